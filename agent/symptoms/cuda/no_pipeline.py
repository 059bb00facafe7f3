"""The operands of a dot are loaded when they are needed: the loop has one stage."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cuda.changes import with_loop_stages, with_option
from agent.symptoms.cuda.reading import (
    CUDA,
    LATENCIES,
    LEAST_COPY_BYTES,
    PIPELINE,
    accesses,
    dot_loops,
    final_flow,
    has_copies,
    loads_of_dot,
    option,
    stages_of,
    told,
    weight_of,
)
from agent.symptoms.structure import line_of

_STAGES = 3


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    for dot, loop in dot_loops(flow) if flow is not None else []:
        if flow is None or has_copies(loop) or stages_of(subject, line_of(loop)) > 1:
            continue
        widths = {id(a.op): a.width_bytes for a in accesses(subject, ("tt.load",))}
        loads = [op for op in loads_of_dot(flow, dot, loop) if tile(op.operands[0].type) is not None]
        wide = [op for op in loads if widths.get(id(op), 0) >= LEAST_COPY_BYTES]
        if wide:
            line = line_of(wide[0])
            weight = weight_of(subject, line, (line_of(op) for op in wide), 0.6)
            return [told(subject, "no_pipeline", [*wide, dot], LATENCIES, line=line, weight=weight)]
    return []


def _more_stages(subject: Subject, structure: Structure) -> Variant | None:
    """Ask for more stages where they were asked for: at the loop, or at the launch."""
    if option(subject, "num_stages", _STAGES) > 1:
        return with_loop_stages("no_pipeline", _STAGES)(subject, structure)
    return with_option("no_pipeline", "num_stages", lambda _subject, _structure: _STAGES)(subject, structure)


NO_PIPELINE = Symptom(
    "no_pipeline", CUDA, "ir", (LATENCIES, PIPELINE), ("tt.load", "tt.dot", "scf.for"),
    "loops with num_stages of one or less are not pipelined; preCondition outer loop distance; load latency",
    _detect, _more_stages, area="cuda",
)  # fmt: skip

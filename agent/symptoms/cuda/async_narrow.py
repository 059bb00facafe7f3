"""num_stages has no effect: the loads are too narrow to be copied asynchronously."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_multiples
from agent.symptoms.cuda.reading import (
    COALESCE,
    CUDA,
    LATENCIES,
    LEAST_COPY_BYTES,
    accesses,
    dot_loops,
    final_flow,
    has_copies,
    loads_of_dot,
    stages_of,
    told,
    weight_of,
    widest_in_ptx,
)
from agent.symptoms.cuda.unknown_stride import loose_names
from agent.symptoms.structure import line_of


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    for dot, loop in dot_loops(flow) if flow is not None else []:
        if flow is None or has_copies(loop) or stages_of(subject, line_of(loop)) <= 1:
            continue
        widths = {id(a.op): min(a.width_bytes, _in_ptx(subject, a.line)) for a in accesses(subject, ("tt.load",))}
        narrow = [op for op in loads_of_dot(flow, dot, loop) if widths.get(id(op), 0) < LEAST_COPY_BYTES]
        if narrow:
            line = line_of(narrow[0])
            weight = weight_of(subject, line, (line_of(op) for op in narrow), 0.8)
            return [told(subject, "async_narrow", [*narrow, dot], LATENCIES, line=line, weight=weight)]
    return []


def _in_ptx(subject: Subject, line: int | None) -> int:
    """Return the width of the line in PTX; a mask narrows an access only there."""
    return widest_in_ptx(subject, line) or 16


ASYNC_NARROW = Symptom(
    "async_narrow", CUDA, "ir", (LATENCIES, COALESCE), ("tt.load", "tt.dot", "scf.for"),
    "load is too small for pipelining; cp.async needs at least 32 bits contiguity; isPipeliningBeneficial",
    _detect, with_multiples("async_narrow", loose_names), area="cuda",
)  # fmt: skip

"""A loop streams through memory without stages of its own, and too few programs hide the latency."""

from __future__ import annotations

from agent.gpu.ttgir import DOTS
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_loop_stages
from agent.symptoms.cuda.reading import (
    CUDA,
    LATENCIES,
    Access,
    accesses,
    final_flow,
    has_copies,
    is_inside,
    loop_of,
    loop_stages,
    scalars_of,
    told,
    weight_of,
)
from agent.symptoms.structure import Flow, line_of
from agent.toolchain.cuda_targets import find_cuda_target

# From two programs a multiprocessor on, the warps of one run while those of another wait.
_PROGRAMS_A_MULTIPROCESSOR = 2
_LEAST_TRIPS = 4
_STAGES = 5


def _detect(subject: Subject) -> list[Structure]:
    flow, target = final_flow(subject), find_cuda_target(subject.compilation.target)
    if flow is None or target is None:
        return []
    if subject.launch.programs >= _PROGRAMS_A_MULTIPROCESSOR * target.multiprocessors:
        return []
    found = [a for a in accesses(subject, ("tt.load",)) if _is_stream(subject, flow, a)]
    if not found:
        return []
    weight = weight_of(subject, found[0].line, (a.line for a in found), 0.5)
    return [told(subject, "stream_no_stages", [found[0].op], LATENCIES, line=found[0].line, weight=weight)]


def _is_stream(subject: Subject, flow: Flow, seen: Access) -> bool:
    loop = loop_of(flow, seen.op)
    if loop is None or loop.name != "scf.for" or has_copies(loop) or any(o.name in DOTS for o in loop.walk()):
        return False
    moving = is_inside(flow, flow.producer(seen.op, 0), loop)
    own = loop_stages(subject, line_of(loop))
    return moving and own is None and scalars_of(subject, flow).trips(loop) >= _LEAST_TRIPS


STREAM_NO_STAGES = Symptom(
    "stream_no_stages", CUDA, "ir", (LATENCIES,), ("tt.load", "scf.for"),
    "loads that feed no dot are pipelined only when the loop carries num_stages; assign latencies non dot uses",
    _detect, with_loop_stages("stream_no_stages", _STAGES), area="cuda",
)  # fmt: skip

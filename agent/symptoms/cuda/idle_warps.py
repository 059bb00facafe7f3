"""A program has more threads than elements, so some of them do again what others do."""

from __future__ import annotations

from agent.gpu.ttgir import DOTS
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_option
from agent.symptoms.cuda.reading import COALESCE, CUDA, accesses, final_flow, told, warps_of, weight_of
from agent.toolchain.cuda_targets import THREADS_A_WARP

_CONVERT = "convert-triton-to-tritongpu"


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None or any(op.name in DOTS for op in flow.ops):
        return []
    seen = accesses(subject)
    if not seen or max(a.tile.elements for a in seen) >= THREADS_A_WARP * warps_of(subject):
        return []
    first = next((a for a in seen if a.op.name == "tt.load"), seen[0])
    weight = weight_of(subject, first.line, (None, *(a.line for a in seen)), 0.7)
    return [told(subject, "idle_warps", [first.op], _CONVERT, line=first.line, weight=weight)]


def _fewer_warps(subject: Subject, _structure: Structure) -> int | None:
    most = max((a.tile.elements for a in accesses(subject)), default=0)
    warps = 1
    while warps * 2 * THREADS_A_WARP * 4 <= most:
        warps *= 2
    return warps if warps < warps_of(subject) else None


IDLE_WARPS = Symptom(
    "idle_warps", CUDA, "ir", (_CONVERT, COALESCE), ("tt.load", "tt.reduce"),
    "num_warps is fixed when converting to TritonGPU; elements per thread numElems over numThreads replicated lanes",
    _detect, with_option("idle_warps", "num_warps", _fewer_warps), area="cuda",
)  # fmt: skip

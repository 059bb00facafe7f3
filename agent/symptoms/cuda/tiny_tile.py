"""Each thread has one element, and the grid is huge: launching programs is the work."""

from __future__ import annotations

from agent.gpu.ttgir import DOTS, elements_a_thread
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_option
from agent.symptoms.cuda.reading import COALESCE, CUDA, Access, accesses, final_flow, told, warps_of, weight_of
from agent.toolchain.cuda_targets import find_cuda_target

# Programs for each place on the card: below this their start is hidden, or there is too little to do anyway.
_LEAST_WAVES = 8
_MOST_BYTES = 4


def _detect(subject: Subject) -> list[Structure]:
    flow, gpu = final_flow(subject), subject.compilation.gpu
    target = find_cuda_target(subject.compilation.target)
    if flow is None or gpu is None or target is None or any(op.name in DOTS for op in flow.ops):
        return []
    seen = accesses(subject)
    places = target.multiprocessors * max(1, gpu.programs_per_multiprocessor)
    if not seen or subject.launch.programs < _LEAST_WAVES * places or any(flow.loops(a.op) for a in seen):
        return []
    each = max(elements_a_thread(a.tile, warps_of(subject)) for a in seen)
    small = [a for a in seen if _is_contiguous(a)]
    if not small or not 1 <= each <= max(1, _MOST_BYTES // max(a.tile.element_bytes for a in seen)):
        return []
    first = next((a for a in small if a.op.name == "tt.load"), small[0])
    weight = weight_of(subject, first.line, (None, *(a.line for a in seen)), 0.8)
    return [told(subject, "tiny_tile", [first.op], COALESCE, line=first.line, weight=weight)]


def _is_contiguous(seen: Access) -> bool:
    return seen.address.unit_axis is not None


TINY_TILE = Symptom(
    "tiny_tile", CUDA, "ir", (COALESCE,), ("tt.load", "tt.store"),
    "elements per thread limited to elements of the tile over threads; small BLOCK gives narrow access; perThread",
    _detect, with_option("tiny_tile", "num_warps", lambda subject, _s: 1 if warps_of(subject) > 2 else None),
    area="cuda",
)  # fmt: skip

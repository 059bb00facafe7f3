"""Unit stride lies between programs, not inside the tile: each element has a sector of memory to itself."""

from __future__ import annotations

from agent.perf.cuda import SECTOR_BYTES
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import on_line, without_stride
from agent.symptoms.cuda.reading import COALESCE, CUDA, Access, accesses, told, weight_of

# A tile below this is a row of statistics, or a scalar.
_LEAST_ELEMENTS = 32


def _detect(subject: Subject) -> list[Structure]:
    found = [a for a in accesses(subject) if _is_strided(a)]
    if not found:
        return []
    loads = [a for a in found if a.op.name != "tt.store"] or found
    weight = weight_of(subject, loads[0].line, (a.line for a in found), 1.0)
    return [told(subject, "strided_col", [loads[0].op], COALESCE, line=loads[0].line, weight=weight)]


def _is_strided(seen: Access) -> bool:
    moving = [step for step, extent in zip(seen.address.steps, seen.tile.shape, strict=True) if extent > 1 and step]
    if not moving or seen.tile.elements < _LEAST_ELEMENTS or 1 in moving or -1 in moving:
        return False
    apart = [step for step in moving if isinstance(step, int)]
    known = len(apart) == len(moving) and min(map(abs, apart)) * seen.tile.element_bytes >= SECTOR_BYTES
    return known or (all(isinstance(step, int) or step == "uniform" for step in moving) and "uniform" in moving)


STRIDED_COL = Symptom(
    "strided_col", CUDA, "ir", (COALESCE,), ("tt.load", "arith.muli", "tt.make_range"),
    "contiguity divisibility per thread width of a pointer whose range is multiplied by a stride coalesced access",
    _detect, on_line("strided_col", without_stride), area="cuda",
)  # fmt: skip

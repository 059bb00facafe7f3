"""One element of each row of a table is gathered at a time, so no axis of the tile is contiguous."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import none
from agent.symptoms.cuda.reading import (
    COALESCE,
    CUDA,
    Access,
    accesses,
    final_flow,
    is_inside,
    near_first,
    told,
    weight_of,
)
from agent.symptoms.structure import Argument, Flow
from indexer.ir.records import IrOp

# A loop that was unrolled leaves this many gathers by the same index.
_LEAST_COPIES = 4


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    seen = accesses(subject, ("tt.load", "ttg.async_copy_global_to_local"))
    gathers = [a for a in seen if _is_gather(a)]
    found = [a for a in gathers if flow is not None and (_walks_a_row(flow, a) or _is_unrolled(flow, a, gathers))]
    if not found:
        return []
    weight = weight_of(subject, found[0].line, (a.line for a in accesses(subject)), 0.9)
    return [told(subject, "gather_elem", [found[0].op], COALESCE, line=found[0].line, weight=weight)]


def _is_gather(seen: Access) -> bool:
    moving = [step for step, extent in zip(seen.address.steps, seen.tile.shape, strict=True) if extent > 1]
    return "loaded" in moving and 1 not in moving


def _walks_a_row(flow: Flow, seen: Access) -> bool:
    """Tell whether the loop around a gather moves along the rows: its counter is in the address, its index is not."""
    loops = flow.loops(seen.op)
    if not loops:
        return False
    loop = loops[-1]
    counted = any(isinstance(made, Argument) and made.owner is loop for made in flow.slice_back(seen.op, 0))
    index = _index(flow, seen.op)
    return counted and (index is None or not is_inside(flow, index, loop) or not _depends(flow, index, loop))


def _index(flow: Flow, op: IrOp) -> IrOp | None:
    return next((made for made in near_first(flow, op, 0) if made.name == "tt.load"), None)


def _depends(flow: Flow, index: IrOp, loop: IrOp) -> bool:
    return any(isinstance(made, Argument) and made.owner is loop for made in flow.slice_back(index, 0))


def _is_unrolled(flow: Flow, seen: Access, gathers: list[Access]) -> bool:
    index = _index(flow, seen.op)
    return index is not None and sum(_index(flow, other.op) is index for other in gathers) >= _LEAST_COPIES


GATHER_ELEM = Symptom(
    "gather_elem", CUDA, "ir", (COALESCE,), ("tt.load", "tt.addptr"),
    "a loaded value has contiguity and divisibility one in the axis analysis, so a gathered pointer is not contiguous",
    _detect, none, area="cuda",
)  # fmt: skip

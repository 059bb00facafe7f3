"""A tile changes its layout through shared memory in every iteration."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import none
from agent.symptoms.cuda.reading import COALESCE, CUDA, final_flow, near_first, told
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp

_LEAST_ELEMENTS = 1024
_LOADS = frozenset({"tt.load", "ttg.local_load"})


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    found = [op for op in flow.ops if _turns(op) and flow.loops(op)] if flow is not None else []
    if flow is None or not found:
        return []
    line = _line(flow, found[0])
    # Measured: the pair makes no difference on an H200; memory hides the exchange.
    return [told(subject, "layout_cvt_loop", found[:1], COALESCE, line=line, weight=0.3)]


def _turns(op: IrOp) -> bool:
    """Tell whether an operation takes a large tile from one blocked layout to another with a different order."""
    if op.name != "ttg.convert_layout":
        return False
    before, after = tile(op.operands[0].type), tile(op.results[0].type)
    if before is None or after is None or before.layout is None or after.layout is None:
        return False
    kinds = {before.layout.kind, after.layout.kind}
    return kinds == {"blocked"} and before.layout.order != after.layout.order and before.elements >= _LEAST_ELEMENTS


def _line(flow: Flow, op: IrOp) -> int | None:
    """Return the line of the load whose tile is turned; of the conversion itself where it is no load's."""
    loop = flow.loops(op)[-1]
    for made in near_first(flow, op, 0):
        if made.name in _LOADS and any(p is loop for p in flow.parents(made)):
            return line_of(made)
    return line_of(op)


LAYOUT_CVT_LOOP = Symptom(
    "layout_cvt_loop", CUDA, "ir", (COALESCE, "tritongpu-remove-layout-conversions"), ("ttg.convert_layout", "tt.load"),
    "each load gets its own coalesced layout and convert_layout is inserted around it; conversions inside a loop",
    _detect, none, area="cuda",
)  # fmt: skip

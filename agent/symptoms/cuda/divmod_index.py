"""The address of every element is made by a division that only the launch knows the divisor of."""

from __future__ import annotations

from agent.gpu.address import constant_of
from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import on_line, without_division
from agent.symptoms.cuda.reading import CUDA, accesses, final_flow, near_first, told
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp

DIVISIONS = frozenset({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"})


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None:
        return []
    for seen in accesses(subject):
        found = [op for op in near_first(flow, seen.op, 0) if is_division(flow, op)]
        if found:
            # Measured: no difference on an H200 while memory is the limit; the whole of the lines is the most.
            return [told(subject, "divmod_index", found, None, line=line_of(found[0]), weight=0.6)]
    return []


def is_division(flow: Flow, op: IrOp) -> bool:
    """Tell whether an operation divides a tile of integers by what is no constant."""
    if op.name not in DIVISIONS or tile(op.results[0].type) is None:
        return False
    divisor = flow.producer(op, 1)
    while isinstance(divisor, IrOp) and divisor.name in {"tt.splat", "tt.broadcast", "arith.extsi", "tt.expand_dims"}:
        divisor = flow.producer(divisor, 0)
    return constant_of(divisor) is None


DIVMOD_INDEX = Symptom(
    "divmod_index", CUDA, "ir", (), ("arith.divsi", "arith.remsi", "tt.load"),
    "axis analysis of integer division and remainder contiguity of quotient and remainder AxisInfo DivOp RemOp",
    _detect, on_line("divmod_index", without_division), area="cuda",
)  # fmt: skip

"""Every iteration divides by the same value."""

from __future__ import annotations

import re

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import on_line, product_for_quotient
from agent.symptoms.cuda.reading import CUDA, final_flow, is_inside, loop_of, told
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp

_POWER_OF_TWO = re.compile(r"dense<[12458]\.000000e[+-]\d+>")


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    found = [op for op in flow.ops if _is_by_the_same(flow, op)] if flow is not None else []
    return [told(subject, "div_in_loop", [op], None, line=line_of(op), weight=0.7) for op in found[:1]]


def _is_by_the_same(flow: Flow, op: IrOp) -> bool:
    loop = loop_of(flow, op)
    if op.name != "arith.divf" or loop is None or tile(op.results[0].type) is None:
        return False
    divisor = flow.producer(op, 1)
    if divisor is None or is_inside(flow, divisor, loop):
        return False
    constant = isinstance(divisor, IrOp) and divisor.name == "arith.constant"
    # The reciprocal of a power of two is exact, and LLVM multiplies by it.
    return not (constant and isinstance(divisor, IrOp) and _POWER_OF_TWO.match(divisor.attributes.get("value", "")))


DIV_IN_LOOP = Symptom(
    "div_in_loop", CUDA, "ir", (), ("arith.divf", "scf.for"),
    "float division lowered to div.full no reciprocal is formed FDivOpConversion loop invariant divisor",
    _detect, on_line("div_in_loop", product_for_quotient), area="cuda",
)  # fmt: skip

"""A product of f32 tiles in full precision runs on the FMA units, not on the tensor cores."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import on_line, tf32
from agent.symptoms.cuda.dot_by_reduce import is_widened
from agent.symptoms.cuda.reading import ACCELERATE, CUDA, final_flow, told
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    found = [op for op in flow.ops if _on_fma(flow, op)] if flow is not None else []
    return [told(subject, "dot_ieee", [op], ACCELERATE, line=line_of(op)) for op in found[:1]]


def _on_fma(flow: Flow, op: IrOp) -> bool:
    result = tile(op.results[0].type) if op.name == "tt.dot" else None
    operand = tile(op.operands[0].type) if result is not None else None
    if result is None or operand is None or result.layout is None:
        return False
    return result.layout.kind == "blocked" and operand.element == "f32" and not is_widened(flow, op)


DOT_IEEE = Symptom(
    "dot_ieee", CUDA, "ir", (ACCELERATE,), ("tt.dot",),
    "f32 dot is mapped to tensor cores only with input precision tf32 supportMMA; ieee stays on FMA",
    _detect, on_line("dot_ieee", tf32), area="cuda",
)  # fmt: skip

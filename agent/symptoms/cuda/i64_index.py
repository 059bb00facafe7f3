"""Indices are divided in 64 bits."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import on_line, without_division
from agent.symptoms.cuda.divmod_index import is_division
from agent.symptoms.cuda.reading import CUDA, final_flow, told
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    found = [op for op in flow.ops if is_division(flow, op) and _is_wide(op)] if flow is not None else []
    if not found:
        return []
    first = min(found, key=lambda op: line_of(op) or 0)
    # Measured: no difference on an H200; a guarded 32-bit division stands beside the 64-bit one.
    return [told(subject, "i64_index", [first, *found], None, line=line_of(first), weight=0.6)]


def _is_wide(op: IrOp) -> bool:
    found = tile(op.results[0].type)
    return found is not None and found.element == "i64"


I64_INDEX = Symptom(
    "i64_index", CUDA, "ir", (), ("arith.divsi", "arith.remsi", "arith.extsi"),
    "integer promotion of mixed i32 and i64 operands computation type of index arithmetic int64",
    _detect, on_line("i64_index", without_division), area="cuda",
)  # fmt: skip

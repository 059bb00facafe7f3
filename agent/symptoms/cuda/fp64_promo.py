"""Arithmetic runs in double precision, though no tile of doubles is read or written."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import on_line, scalar_as_f32
from agent.symptoms.cuda.reading import CUDA, accesses, final_flow, told, weight_of
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp

_CASTS = frozenset({"arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp"})


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None or any(a.tile.element == "f64" for a in accesses(subject)):
        return []
    found = [op for op in flow.ops if _is_double(op)]
    if not found:
        return []
    line = line_of(found[0])
    weight = weight_of(subject, line, (line_of(op) for op in found), 0.9)
    return [told(subject, "fp64_promo", found, None, line=line, weight=weight)]


def _is_double(op: IrOp) -> bool:
    if not op.results or op.name in _CASTS or not op.name.startswith(("arith.", "math.", "tt.extern")):
        return False
    found = tile(op.results[0].type)
    return found is not None and found.element == "f64" and op.name != "arith.constant"


FP64_PROMO = Symptom(
    "fp64_promo", CUDA, "ir", (), ("arith.extf", "arith.mulf", "tt.load"),
    "type promotion of a double tensor operand computation type of binary operators semantic float64",
    _detect, on_line("fp64_promo", scalar_as_f32), area="cuda",
)  # fmt: skip

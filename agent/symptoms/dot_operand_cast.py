"""A dot operand computed on the vector core inside the loop reaches the cube through global memory."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import ROUND_TRIP_PASS, Product
from agent.symptoms.dot_swapped_ptr import crossing_structures
from agent.symptoms.edits import Code, edit_line, is_call
from indexer.ir.records import IrOp


def _cast(product: Product, made: IrOp) -> IrOp | None:
    inside = product.loop is not None and any(p is product.loop for p in product.flow.parents(made))
    return made if inside and made.name == "hivm.hir.vcast" else None


def _detect(subject: Subject) -> list[Structure]:
    return crossing_structures("dot_operand_cast", subject, _cast)


def _uncast(_code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and is_call(node, "to") and isinstance(node.func, ast.Attribute):
        return node.func.value
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Leave the cast out; stays open where the other operand has another type."""
    return edit_line("dot_operand_cast", subject, structure, _uncast)


DOT_OPERAND_CAST = Symptom(
    id="dot_operand_cast",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(ROUND_TRIP_PASS, "insert-workspace-for-mix-cv", "hivm-cross-core-gss"),
    ops=("hivm.hir.vcast", "hivm.hir.store", "hivm.hir.load"),
    query="insert load store for mix cube vector operand produced by vcast workspace vector to cube no on-chip path",
    detect=_detect,
    counterfactual=_counterfactual,
)

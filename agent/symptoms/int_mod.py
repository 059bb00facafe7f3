"""The remainder of integer tensors runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return is_vector_op(op, "vmod")


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("int_mod", subject, _belongs)


def _mask(code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not code.is_constant(node):
        return ast.BinOp(node.left, ast.BitAnd(), node.right)
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Put a bitwise and in the place of the remainder."""
    return edit_line("int_mod", subject, structure, _mask, nested=True)


INT_MOD = Symptom(
    id="int_mod",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS, "hfusion-normalize-ops"),
    ops=("hivm.hir.vmod",),
    query="shouldModOpLowerToScalarLoops vmod integer remainder i32 i64 lower to scalar loops",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

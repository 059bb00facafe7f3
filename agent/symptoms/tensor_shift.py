"""A shift by an amount that differs per element runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line
from agent.symptoms.scalarised import LOWER_TO_LOOPS, Scalarised, scalar_structures
from agent.symptoms.structure import shaped


def _belongs(item: Scalarised) -> bool:
    operands = item.op.operands
    if item.name not in {"vshl", "vshr"} or len(operands) < 2:
        return False
    amount = shaped(operands[1].type)
    return amount is not None and item.operand_types[0].element != "i64"


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("tensor_shift", subject, _belongs)


def _add(code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.LShift, ast.RShift)) and not code.is_constant(node):
        return ast.BinOp(node.left, ast.Add(), node.right)
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Add the amount instead of shifting by it: same shapes, a vector operation."""
    return edit_line("tensor_shift", subject, structure, _add)


TENSOR_SHIFT = Symptom(
    id="tensor_shift",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=("hivm.hir.vshr", "hivm.hir.vshl"),
    query="VShROp VShLOp shouldLowerToScalarLoops shift amount is a vector not a scalar hardware unsupported scalar operand",
    detect=_detect,
    counterfactual=_counterfactual,
)

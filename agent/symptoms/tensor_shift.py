"""A shift by an amount that differs per element runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures, types_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped


def _belongs(op: IrOp) -> bool:
    if not is_vector_op(op, "vshl", "vshr") or len(op.operands) < 2:
        return False
    return shaped(op.operands[1].type) is not None and types_of(op)[0].element != "i64"


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("tensor_shift", subject, _belongs)


def _add(code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.LShift, ast.RShift)) and not code.is_constant(node):
        return ast.BinOp(node.left, ast.Add(), node.right)
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Add the amount instead of shifting by it: same shapes, a vector operation."""
    return edit_line("tensor_shift", subject, structure, _add, nested=True)


TENSOR_SHIFT = Symptom(
    id="tensor_shift",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=("hivm.hir.vshr", "hivm.hir.vshl"),
    query="VShROp VShLOp shouldLowerToScalarLoops shift amount vector not scalar hardware unsupported scalar operand",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

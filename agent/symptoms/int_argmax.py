"""An argmax or argmin of integers runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call, with_first_cast
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return is_vector_op(op, "vreduce") and "with_index" in op.attributes.get("arith", "")


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("int_argmax", subject, _belongs)


def _widen(_code: Code, node: ast.expr) -> str | None:
    found = isinstance(node, ast.Call) and is_call(node, "argmax", "argmin") and node.args
    return with_first_cast(node, "float32") if found and isinstance(node, ast.Call) else None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Search in float32, for which there is a vector instruction."""
    return edit_line("int_argmax", subject, structure, _widen)


INT_ARGMAX = Symptom(
    id="int_argmax",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=("hivm.hir.vreduce",),
    query="VReduceOp max_with_index_left processIndexLeft integer element type reduce with index lower to scalar loops",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

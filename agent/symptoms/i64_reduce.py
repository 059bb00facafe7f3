"""A reduction of 64-bit integers runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call, with_first_cast
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return is_vector_op(op, "vreduce") and "with_index" not in op.attributes.get("arith", "")


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("i64_reduce", subject, _belongs)


def _narrow(_code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and is_call(node, "sum", "max", "min", "xor_sum") and node.args:
        return with_first_cast(node, "int32")
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Reduce in 32 bits."""
    return edit_line("i64_reduce", subject, structure, _narrow)


I64_REDUCE = Symptom(
    id="i64_reduce",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=("hivm.hir.vreduce",),
    query="shouldVReduceOpDecomposeToScalarImpl sum min max prod xori reduction of 64-bit integers scalar loops",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

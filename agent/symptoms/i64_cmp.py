"""A comparison of 64-bit integers runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, cast, edit_line
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures, types_of
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return is_vector_op(op, "vcmp") and any(t.element == "i64" for t in types_of(op))


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("i64_cmp", subject, _belongs)


def _narrow(code: Code, node: ast.expr) -> str | None:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    sides = [ast.unparse(s) if code.is_constant(s) else cast(s, "int32") for s in (node.left, node.comparators[0])]
    symbol = ast.unparse(ast.Compare(ast.Name("l"), node.ops, [ast.Name("r")]))[1:-1]
    return f"({sides[0]}{symbol}{sides[1]})"


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Compare in 32 bits: cast both sides of the comparisons on the line."""
    return edit_line("i64_cmp", subject, structure, _narrow)


I64_CMP = Symptom(
    id="i64_cmp",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=("hivm.hir.vcmp",),
    query="VCmpOp shouldLowerToScalarLoops integer compare element type i64 compare mode eq ne lower to scalar loops",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

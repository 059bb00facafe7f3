"""A widening multiply runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return is_vector_op(op, "vmulext", "vmulextui", "vmulext_ui")


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("mulhi", subject, _belongs)


def _low(_code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and is_call(node, "umulhi", "mulhi") and len(node.args) > 1:
        return ast.BinOp(node.args[0], ast.Mult(), node.args[1])
    if isinstance(node, ast.Call) and is_call(node, "rand", "randn", "randint") and len(node.args) > 1:
        return node.args[1]
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Take the low half of the product; of tl.rand, whose rounds of products are inside the library, the offsets."""
    return edit_line("mulhi", subject, structure, _low, nested=True)


MULHI = Symptom(
    id="mulhi",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=("hivm.hir.vmulext",),
    query="VMulExtOp VMulExtUiOp shouldLowerToScalarLoops widening multiply mulsi_extended umulhi",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

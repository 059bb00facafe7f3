"""A scan along the last axis runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return is_vector_op(op, "vcumsum", "vcumprod")


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("cumsum_last", subject, _belongs)


def _drop(_code: Code, node: ast.expr) -> ast.expr | None:
    return node.args[0] if isinstance(node, ast.Call) and is_call(node, "cumsum", "cumprod") and node.args else None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Leave the scan out: its input has the same shape."""
    return edit_line("cumsum_last", subject, structure, _drop, nested=True)


CUMSUM_LAST = Symptom(
    id="cumsum_last",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=("hivm.hir.vcumsum", "hivm.hir.vcumprod"),
    query="shouldCumOpLowerToScalarLoops vcumsum cum dims last axis after flatten lower to scalar loops",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

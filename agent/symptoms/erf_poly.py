"""A function without an instruction of its own is expanded into a polynomial."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.expanded import NORMALIZE, expanded_structures, function_of
from indexer.ir.records import IrOp

# A division or a power takes a handful of operations; those meant here take twenty and more.
_LEAST = 12
_FUNCTIONS = ("erf", "sin", "cos", "tan", "atan", "tanh", "asin", "acos", "sinh", "cosh")


def _belongs(op: IrOp) -> bool:
    return op.name == "hfusion.elemwise_unary" and bool(function_of(op))


def _detect(subject: Subject) -> list[Structure]:
    return expanded_structures("erf_poly", subject, _belongs, least=_LEAST, weight=0.9)


def _argument(_code: Code, node: ast.expr) -> ast.expr | None:
    return node.args[0] if isinstance(node, ast.Call) and is_call(node, *_FUNCTIONS) and node.args else None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Leave the function out: its argument has the same shape."""
    return edit_line("erf_poly", subject, structure, _argument, nested=True)


ERF_POLY = Symptom(
    id="erf_poly",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(NORMALIZE,),
    ops=("hivm.hir.vmul", "hivm.hir.vadd", "hivm.hir.vdiv"),
    query="normalize erf expand clipped rational polynomial approximation vmul vadd vdiv no instruction for erf "
    "NormalizeErfOp",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

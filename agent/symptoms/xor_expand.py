"""A bitwise exclusive or costs four operations."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line
from agent.symptoms.expanded import NORMALIZE, expanded_structures, function_of
from indexer.ir.records import IrOp


def _belongs(op: IrOp) -> bool:
    return function_of(op) == "vxor"


def _detect(subject: Subject) -> list[Structure]:
    return expanded_structures("xor_expand", subject, _belongs, least=3, weight=0.5)


def _or(_code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
        return ast.BinOp(node.left, ast.BitOr(), node.right)
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Put an inclusive or in its place."""
    return edit_line("xor_expand", subject, structure, _or, nested=True)


XOR_EXPAND = Symptom(
    id="xor_expand",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(NORMALIZE,),
    ops=("hivm.hir.vor", "hivm.hir.vand", "hivm.hir.vnot"),
    query="normalize vxor rewritten to vor vand vnot bitwise exclusive or no instruction NormalizeXorOp",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

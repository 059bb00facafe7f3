"""Descending offsets make the access run one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code
from agent.symptoms.extracted import UNSTRUCTURE, Split, split_structures


def _belongs(split: Split) -> bool:
    return split.descends and not split.divides and not split.is_indirect


def _detect(subject: Subject) -> list[Structure]:
    return split_structures("reverse_stride", subject, _belongs)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Count upwards: what is subtracted stands alone."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    addresses = [c.args[0] for c in code.calls("load", "store") if c.args]
    edit = code.change(code.feeding(addresses), lambda node: _ascending(code, node))
    return edit.variant("reverse_stride", structure.line) if edit else None


def _ascending(code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.right if code.is_tensor(node.right) and not code.is_tensor(node.left) else None
    return None


REVERSE_STRIDE = Symptom(
    id="reverse_stride",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(UNSTRUCTURE,),
    ops=("arith.subi", "scf.for"),
    query="offset analysis subtraction parse sub structured only if right side is a scalar descending offsets",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"scalar"}),
)

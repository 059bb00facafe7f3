"""Division or remainder in an offset makes the access run one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code
from agent.symptoms.extracted import UNSTRUCTURE, Split, split_structures


def _belongs(split: Split) -> bool:
    return split.divides and not split.is_indirect


def _detect(subject: Subject) -> list[Structure]:
    return split_structures("divmod_index", subject, _belongs)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Drop the division and the remainder from the offsets: their left operands remain."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    addresses = [c.args[0] for c in code.calls("load", "store") if c.args]
    edit = code.change(code.feeding(addresses), lambda node: _undivided(code, node))
    return edit.variant("divmod_index", structure.line) if edit else None


def _undivided(code: Code, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        return None
    return (_undivided(code, node.left) or node.left) if code.is_tensor(node.left) else None


DIVMOD_INDEX = Symptom(
    id="divmod_index",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(UNSTRUCTURE,),
    ops=("arith.divsi", "arith.remsi", "scf.for"),
    query="offset analysis division remainder unstructured unless scalar divsi remsi load becomes scalar loop "
    "parseBinaryOp parseArithOp setUnstructured",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"scalar"}),
)

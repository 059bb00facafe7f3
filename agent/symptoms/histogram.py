"""A histogram counts one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.origin import Origin, structure
from agent.symptoms.permute3d import DECOMPOSE
from agent.symptoms.replaced import replacements
from agent.symptoms.structure import line_of


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for item in replacements(subject, DECOMPOSE, lambda op: op.name == "hfusion.histogram"):
        loop = next((op for op in item.made if op.name == "scf.for"), None)
        if loop is not None:
            made_by = Origin(DECOMPOSE, item.snapshot.position)
            shown = [item.op, *list(loop.walk())[:5]]
            found.setdefault(line_of(item.op), structure("histogram", shown, made_by, "hfusion"))
    return list(found.values())


def _range(_code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and is_call(node, "histogram") and len(node.args) > 1:
        return f"tl.arange(0, {ast.unparse(node.args[1])})"
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Put a range of as many bins in its place."""
    return edit_line("histogram", subject, structure, _range)


HISTOGRAM = Symptom(
    id="histogram",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(DECOMPOSE,),
    ops=("hfusion.histogram", "scf.for"),
    query="histogram op decompose operation per element loop tensor extract insert bins",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector", "scalar"}),
)

"""A gather of rows whose length is no multiple of 32 bytes reads one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, is_call
from agent.symptoms.extracted import UNSTRUCTURE, Split, split_structures
from agent.symptoms.tail_dim_pad import block_elements, is_last_axis


def _belongs(split: Split) -> bool:
    return split.is_load and split.is_indirect and split.has_ranged_part and split.is_single


def _detect(subject: Subject) -> list[Structure]:
    return split_structures("row_gather_align", subject, _belongs)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Widen the rows to a whole 32-byte block."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    addresses = [c.args[0] for c in code.calls("load") if c.args]
    size = block_elements(code, addresses)

    def widen(node: ast.expr) -> str | None:
        if isinstance(node, ast.Call) and is_call(node, "arange") and len(node.args) > 1:
            return f"{ast.unparse(node.func)}({ast.unparse(node.args[0])}, {size})"
        return None

    last = [n for root in code.feeding(addresses) for n in ast.walk(root) if is_last_axis(code, n)]
    edit = code.change(code.feeding([n for n in last if isinstance(n, ast.expr)]), widen)
    return edit.variant("row_gather_align", structure.line) if edit else None


ROW_GATHER_ALIGN = Symptom(
    id="row_gather_align",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(UNSTRUCTURE,),
    ops=("tt.load", "scf.for"),
    query="structured trailing axes byte count not divisible by 32 forces every axis to be unstructured",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"scalar"}),
)

"""An indirect load, whose offsets come from memory, reads one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, is_call, names_in
from agent.symptoms.extracted import UNSTRUCTURE, Split, split_structures


def _belongs(split: Split) -> bool:
    return split.is_load and split.is_indirect and not split.has_ranged_part and split.is_single


def _detect(subject: Subject) -> list[Structure]:
    return split_structures("gather_scalar", subject, _belongs)


def counterfactual_of(symptom: str, subject: Subject, structure: Structure) -> Variant | None:
    """Use the place of an index in the place of the index: the load of the indices becomes their own offsets."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    accesses = code.calls("load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_xchg")
    addresses = [c.args[0] for c in accesses if c.args]
    edit = code.change(code.feeding(addresses), lambda node: _own_offsets(code, node))
    return edit.variant(symptom, structure.line) if edit else None


def _own_offsets(code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and is_call(node, "load") and node.args:
        return _without_pointers(code, node.args[0])
    return None


def _without_pointers(code: Code, address: ast.expr) -> ast.expr:
    """Return an address with 0 in the place of its base pointers, following names that hold such an address."""

    class Offsets(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in code.pointers:
                return ast.Constant(0)
            values = code.assigned(node.id)
            if len(values) == 1 and any(names_in(v) & code.pointers for v in code.feeding(values)):
                return _without_pointers(code, values[0])
            return node

    new = Offsets().visit(ast.parse(ast.unparse(address), mode="eval").body)
    assert isinstance(new, ast.expr)  # noqa: S101 - the transformer keeps expressions
    return new


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Use the place of an index in the place of the index."""
    return counterfactual_of("gather_scalar", subject, structure)


GATHER_SCALAR = Symptom(
    id="gather_scalar",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(UNSTRUCTURE,),
    ops=("tt.load", "scf.for"),
    query="offset analysis load operand unstructured axis indirect scalar loop ExtractedLoadOrStore discrete "
    "parseLoad setUnstructured",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"scalar"}),
)

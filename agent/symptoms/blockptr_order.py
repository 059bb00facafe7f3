"""A block pointer with swapped strides whose `order` does not name the contiguous axis first."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.access import stride_structures
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, is_call
from agent.symptoms.implicit_transpose import is_swapped, swapped_origin, uses_block_pointers
from agent.symptoms.static_stride import ALIGN, RECOGNIZE


def _detect(subject: Subject) -> list[Structure]:
    found = stride_structures("blockptr_order", subject, is_swapped, lambda t: swapped_origin(subject, t), 0.9)
    return found if found and uses_block_pointers(subject) else []


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Turn the order of the block pointer around."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    pointers = [a for c in code.calls("load", "store") for a in c.args[:1]]
    orders = [_order(n) for root in code.feeding(pointers) for n in ast.walk(root) if is_call(n, "make_block_ptr")]
    edit = code.replace([(o, ast.unparse(ast.Tuple(o.elts[::-1], ast.Load()))) for o in orders if o is not None][:1])
    return edit.variant("blockptr_order", structure.line) if edit else None


def _order(call: ast.AST) -> ast.Tuple | None:
    assert isinstance(call, ast.Call)  # noqa: S101 - the caller asked for calls
    given = [k.value for k in call.keywords if k.arg == "order"] or call.args[5:6]
    return given[0] if given and isinstance(given[0], ast.Tuple) else None


BLOCKPTR_ORDER = Symptom(
    id="blockptr_order",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=("triton-to-linalg", RECOGNIZE, ALIGN),
    ops=("hivm.hir.load", "hivm.hir.vdeinterleave"),
    query="make tensor ptr block pointer order descending default contiguous load permute swapped strides converter",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store"}),
)

"""Name the contiguous axis first in a block pointer's order: then it is loaded in memory order and transposed."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import call_of, given, rephrase
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


def unit_stride_first(subject: Subject, structure: Structure) -> Rewrite | None:
    """Change `order` of block pointers, which is a hint: results do not depend on it."""
    return rephrase("unit_stride_first", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    call = call_of(node, scope, "make_block_ptr")
    strides, order = (given(call, "strides", 2), given(call, "order", 5)) if call is not None else (None, None)
    if call is None or not isinstance(strides, (cst.Tuple, cst.List)) or not isinstance(order, (cst.Tuple, cst.List)):
        return None
    units = [_is_one(element.value, scope) for element in strides.elements]
    named_axes = [evaluate(element.value, scope) for element in order.elements]
    axes = [axis.poly.literal for axis in named_axes if isinstance(axis, Number)]
    if units.count(True) != 1 or len(axes) != len(units) or axes[0] == units.index(True) or None in axes:
        return None
    first = units.index(True)
    wanted = ", ".join(str(axis) for axis in (first, *(axis for axis in axes if axis != first)))
    start, end = scope.file.span(call)
    at = scope.file.span(order)
    text = scope.file.data
    return text[start : at[0]].decode() + wanted + text[at[1] : end].decode()


def _is_one(node: cst.BaseExpression, scope: Scope) -> bool:
    found = evaluate(node, scope)
    return isinstance(found, Number) and found.poly.known == 1

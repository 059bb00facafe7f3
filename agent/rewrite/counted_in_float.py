"""Count in float32: sums of floats have an instruction across lanes, sums of integers a tree with a buffer."""

from __future__ import annotations

import math

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate, reduced_axis
from agent.rewrite.expressions import call_of, given, grouped, is_set_once, rephrase, resolved
from agent.rewrite.magnitude import magnitude
from agent.rewrite.source import argument
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

# Integers below this are exact in float32, so are their sums.
EXACT_IN_FLOAT = 1 << 24


def counted_in_float(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.sum` of small integers into a float32 sum, where no sum can reach 2**24; exact."""
    return rephrase("counted_in_float", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    call = call_of(node, scope, "sum")
    tile = given(call, "input", 0) if call is not None else None
    if call is None or tile is None:
        return None
    kind = getattr(evaluate(tile, scope), "dtype", "i32")
    most, count = magnitude(tile, scope), summed_elements(call, scope)
    if kind not in {"i1", "u1", "i8", "u8", "i16", "i32", "i64"} and most is None:
        return None
    if kind is not None and kind.startswith(("fp", "bf", "float")):
        return None
    if most is None or count is None or most * count >= EXACT_IN_FLOAT:
        return None
    tl, rest = scope.file.language, [scope.file.text(a) for a in call.args if a.value is not tile]
    total = f"{tl}.sum({', '.join([f'{_uncast(tile, scope)}.to({tl}.float32)', *rest])}).to({tl}.int32)"
    return f"{total}.to({tl}.int64)" if kind == "i64" else total


def summed_elements(call: cst.Call, scope: Scope) -> int | None:
    """Return how many elements go into one sum at this launch."""
    tile = given(call, "input", 0)
    shape = evaluate(tile, scope).shape if tile is not None else None
    if shape is None:
        return None
    if argument(call, "axis", 1) is None:
        sizes = [size.known for size in shape]
        return None if None in sizes else math.prod(size or 1 for size in sizes)
    axis = reduced_axis(call, scope)
    return axis.known if axis is not None else None


def _uncast(node: cst.BaseExpression, scope: Scope) -> str:
    """Write what is cast to an integer type without the cast, where that is a comparison; else as it is."""
    value = resolved(node, scope)
    match value:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to"))):
            is_there = value is node or is_set_once(inner, scope)
            if is_there and isinstance(resolved(inner, scope), cst.Comparison):
                return grouped(inner, scope.file)
    return grouped(node, scope.file)

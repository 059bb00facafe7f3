"""Reduce in 32 bits and widen the result: a reduction of 64-bit integers is a scalar loop."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.counted_in_float import summed_elements
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import Spelled, call_of, given, is_set_once, named, rephrase, resolved
from agent.rewrite.magnitude import magnitude
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_WORDS = frozenset({"i8", "u8", "i16", "u16", "i32"})
_END = 1 << 31
# Of so many halves no sum of the low ones, each below 2**16, reaches 2**31.
_MOST_HALVES = 1 << 15


def narrow_sum(subject: Subject, structure: Structure) -> Rewrite | None:
    """Sum what was widened to 64 bits as 32-bit words, in two halves where the sum could leave 32 bits; exact."""
    return rephrase("narrow_sum", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    call = call_of(node, scope, "sum", "max", "min")
    tile = given(call, "input", 0) if call is not None else None
    inner = _widened(tile, scope) if tile is not None else None
    if call is None or tile is None or inner is None:
        return None
    file, tl, name = scope.file, scope.file.language, scope.function(call.func)
    rest = "".join(f", {file.text(a)}" for a in call.args if a.value is not tile)
    lines: list[str] = []
    if name != "sum":
        return Spelled(f"{tl}.{name}({file.text(inner)}{rest}).to({tl}.int64)") if len(call.args) < 3 else None
    count, most = summed_elements(call, scope), magnitude(inner, scope)
    if count is not None and most is not None and most * count < _END:
        return Spelled(
            f"{tl}.sum({named(inner, 'narrow', file, lines)}.to({tl}.int32){rest}).to({tl}.int64)", (*lines,)
        )
    if count is None or count > _MOST_HALVES:
        return None
    word = named(inner, "narrow", file, lines)
    if getattr(evaluate(inner, scope), "dtype", "i32") != "i32":
        word = f"{word}.to({tl}.int32)"
    high, low = f"{tl}.sum({word} >> 16{rest})", f"{tl}.sum({word} & 0xFFFF{rest})"
    return Spelled(f"({high}.to({tl}.int64) * 65536 + {low}.to({tl}.int64))", tuple(lines))


def _widened(tile: cst.BaseExpression, scope: Scope) -> cst.BaseExpression | None:
    """Return the narrow tile that `tile` is, widened to 64 bits."""
    value = resolved(tile, scope)
    match value:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to")), args=[kind, *_]):
            target = kind.value
        case cst.Call(args=[first, kind, *_]) if scope.function(value.func) == "cast":
            inner, target = first.value, kind.value
        case _:
            return None
    found = evaluate(inner, scope)
    fits = isinstance(found, Number) and found.bits <= 32
    is_narrow = fits or getattr(found, "dtype", None) in _WORDS or magnitude(inner, scope) is not None
    moved = value is not tile and not is_set_once(inner, scope)
    return inner if scope.function(target) == "int64" and is_narrow and found.shape and not moved else None

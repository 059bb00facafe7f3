"""Find where the extreme of integers is by comparing with it: a reduction that carries an index is a scalar loop."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate, reduced_index
from agent.rewrite.expressions import Spelled, call_of, given, named, rephrase
from agent.rewrite.render import NotWritable, axis_view, write_factor, write_sum
from agent.rewrite.source import argument
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_EXTREME = {"argmax": "max", "argmin": "min", "max": "max", "min": "min"}
_INTEGERS = frozenset({"i8", "i16", "i32", "u8", "u16", "u32"})


def index_by_value(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.argmax(x, 1)` of integers into the least index at which `x` is `tl.max(x, 1)`; exact, ties included."""
    return rephrase("index_by_value", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    call = call_of(node, scope, *_EXTREME)
    if call is None or argument(call, "keep_dims", 3) is not None or not _carries_index(call, scope):
        return None
    tile = given(call, "input", 0)
    value = evaluate(tile, scope) if tile is not None else None
    index = reduced_index(call, scope)
    if tile is None or value is None or index is None or getattr(value, "dtype", "i32") not in _INTEGERS:
        return None
    if value.shape is None or not -len(value.shape) <= index < len(value.shape):
        return None
    try:
        return _spell(call, tile, index % len(value.shape), scope)
    except NotWritable:
        return None


def _carries_index(call: cst.Call, scope: Scope) -> bool:
    if scope.function(call.func).startswith("arg"):
        return True
    asked = argument(call, "return_indices", 2)
    return asked is not None and isinstance(asked.value, cst.Name) and asked.value.value == "True"


def _spell(call: cst.Call, tile: cst.BaseExpression, axis: int, scope: Scope) -> Spelled:
    file, tl, name = scope.file, scope.file.language, scope.function(call.func)
    shape = evaluate(tile, scope).shape or ()
    size, lines = shape[axis], list[str]()
    values, extreme = named(tile, "values", file, lines), file.fresh("extreme")
    lines.append(f"{extreme} = {tl}.{_EXTREME[name]}({values}, {axis})")
    found = f"{tl}.expand_dims({extreme}, {axis})" if len(shape) > 1 else extreme
    lanes = f"{tl}.arange(0, {write_sum(size, scope)}){axis_view(axis - len(shape), len(shape))}"
    text = f"{tl}.min({tl}.where({values} == {found}, {lanes}, {write_factor(size, scope)}), {axis})"
    return Spelled(text if name.startswith("arg") else f"({extreme}, {text})", tuple(lines))

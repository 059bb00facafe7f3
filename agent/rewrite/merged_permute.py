"""Move three axes by one 2-D transpose, where two of them stay side by side."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import rephrase
from agent.rewrite.render import NotWritable, write_factor, write_sum
from agent.rewrite.values import Number, Shape
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


def merged_permute(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.permute(x, (2, 0, 1))` into a reshape, a transpose and a reshape back; `(1, 2, 0)` likewise."""
    return rephrase("merged_permute", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    if not isinstance(node, cst.Call) or scope.function(node.func) not in {"permute", "trans"} or len(node.args) < 2:
        return None
    order = _order([given.value for given in node.args[1:]], scope)
    shape = evaluate(node.args[0].value, scope).shape
    if shape is None or len(shape) != 3 or order not in {(2, 0, 1), (1, 2, 0)}:
        return None
    tl, text = scope.file.language, scope.file.text(node.args[0].value)
    try:
        flat, result = _shapes(shape, order, scope)
    except NotWritable:
        return None
    return f"{tl}.reshape({tl}.trans({tl}.reshape({text}, {flat})), {result})"


def _order(given: list[cst.BaseExpression], scope: Scope) -> tuple[int | None, ...]:
    """Read `(2, 0, 1)` or `2, 0, 1`."""
    if len(given) == 1 and isinstance(given[0], (cst.Tuple, cst.List)):
        given = [element.value for element in given[0].elements]
    found = [evaluate(entry, scope) for entry in given]
    return tuple(entry.poly.literal if isinstance(entry, Number) else None for entry in found)


def _shapes(shape: Shape, order: tuple[int | None, ...], scope: Scope) -> tuple[str, str]:
    a, b, c = (write_sum(size, scope) for size in shape)
    x, y, z = (write_factor(size, scope) for size in shape)
    if order == (2, 0, 1):
        return f"({x} * {y}, {c})", f"({c}, {a}, {b})"
    return f"({a}, {y} * {z})", f"({b}, {c}, {a})"

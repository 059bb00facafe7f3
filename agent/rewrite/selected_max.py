"""Select the larger of two floats: the default NaN rule of `tl.maximum` costs seven operations."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import Spelled, call_of, given, named, rephrase
from agent.rewrite.number_max import is_number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_FLOATS = ("fp", "bf", "float")


def selected_max(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.maximum(x, y)` into selections that give the number where one side is NaN, as the default rule does.

    Where one side is a number for certain one selection does: `tl.where(x > 0.0, x, 0.0)`.
    """
    return rephrase("selected_max", subject, structure, _change, message("rewrite.selected_max_precondition"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    pair = call_of(node, scope, "maximum", "minimum")
    if pair is None or len(pair.args) != 2:
        return None
    x, y = given(pair, "x", 0), given(pair, "y", 1)
    if x is None or y is None or not _is_float_tile(x, y, scope):
        return None
    lines: list[str] = []
    sure, other = (x, y) if is_number(x, scope) else (y, x)
    name = scope.function(pair.func)
    operator, end = (">", "-inf") if name == "maximum" else ("<", "inf")
    a, b = _operand(other, "one_side", scope, lines), _operand(sure, "other_side", scope, lines)
    tl = scope.file.language
    # Nothing but NaN is not at least minus infinity.
    rest = b if is_number(sure, scope) else f'{tl}.where({b} {operator}= float("{end}"), {b}, {a})'
    return Spelled(f"{tl}.where({a} {operator} {b}, {a}, {rest})", tuple(lines))


def _operand(node: cst.BaseExpression, wanted: str, scope: Scope, lines: list[str]) -> str:
    literal = isinstance(node, (cst.Float, cst.Integer)) or (
        isinstance(node, cst.UnaryOperation) and isinstance(node.expression, (cst.Float, cst.Integer))
    )
    return scope.file.text(node) if literal else named(node, wanted, scope.file, lines)


def _is_float_tile(x: cst.BaseExpression, y: cst.BaseExpression, scope: Scope) -> bool:
    sides = [evaluate(side, scope) for side in (x, y)]
    kinds = [getattr(side, "dtype", None) or "" for side in sides]
    return any(kind.startswith(_FLOATS) for kind in kinds) and any(side.shape != () for side in sides)

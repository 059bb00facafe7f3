"""Let `tl.maximum` and `tl.minimum` of values that are never NaN become one instruction."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import rephrase, resolved
from agent.rewrite.source import argument
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_PAIRS = frozenset({"maximum", "minimum"})


def number_max(subject: Subject, structure: Structure) -> Rewrite | None:
    """Pass `propagate_nan=tl.PropagateNan.ALL` where both operands are numbers for certain: nothing propagates then."""
    return rephrase("number_max", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    pair = _operands(node, scope)
    if pair is None or not isinstance(node, cst.Call) or not all(is_number(side, scope) for side in pair):
        return None
    if all(isinstance(evaluate(side, scope), Number) for side in pair):
        return None  # integers: there is no NaN rule to pay for
    tl, (left, right) = scope.file.language, (scope.file.text(given.value) for given in node.args)
    return f"{tl}.{scope.function(node.func)}({left}, {right}, propagate_nan={tl}.PropagateNan.ALL)"


def _operands(node: cst.CSTNode, scope: Scope) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """Return the operands of a maximum or minimum that has the default NaN rule."""
    if not isinstance(node, cst.Call) or scope.function(node.func) not in _PAIRS or len(node.args) != 2:
        return None
    left, right = argument(node, "x", 0), argument(node, "y", 1)
    return (left.value, right.value) if left is not None and right is not None else None


def is_number(node: cst.CSTNode, scope: Scope, depth: int = 8) -> bool:
    """Tell whether `node` is never NaN. The default rule returns the other operand for a NaN one."""
    if depth == 0:  # a variable that a loop makes of itself
        return False
    node = resolved(node, scope)
    pair = _operands(node, scope)
    if pair is not None:
        return any(is_number(side, scope, depth - 1) for side in pair)
    match node:
        case cst.Float() | cst.Integer():
            return True
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            return is_number(inner, scope, depth - 1)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to"))):
            return isinstance(evaluate(inner, scope), Number)
        case cst.Call() if scope.function(node.func) == "where" and len(node.args) == 3:
            return all(is_number(given.value, scope, depth - 1) for given in node.args[1:])
        case _:
            return isinstance(evaluate(node, scope), Number)

"""How large the integers of an expression can be, as far as the source tells."""

from __future__ import annotations

import libcst as cst

from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import call_of, given, resolved
from agent.rewrite.values import Mask, Number

# A load tells its type; what it holds can be anything of that type.
_OF_TYPE = {"i1": 1, "u1": 1, "i8": 128, "u8": 255, "i16": 32768, "u16": 65535}
_DEPTH = 12


def magnitude(node: cst.BaseExpression, scope: Scope, depth: int = _DEPTH) -> int | None:
    """Return a bound on the absolute value of each element of `node`; None where there is none below 32 bits."""
    if depth == 0:
        return None
    found = evaluate(node, scope)
    if isinstance(found, Mask):
        return 1
    if isinstance(found, Number) and found.poly.known is not None:
        return abs(found.poly.known)
    plain = resolved(node, scope)
    of_type = _OF_TYPE.get(getattr(found, "dtype", None) or "")
    of_parts = _of_parts(plain, scope, depth - 1) if isinstance(plain, cst.BaseExpression) else None
    return min((bound for bound in (of_type, of_parts) if bound is not None), default=None)


def _of_parts(node: cst.BaseExpression, scope: Scope, depth: int) -> int | None:
    where, least = call_of(node, scope, "where"), call_of(node, scope, "abs")
    match node:
        case cst.Comparison():
            return 1
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to"))):
            return magnitude(inner, scope, depth)
        case cst.BinaryOperation(left=left, operator=cst.BitAnd(), right=right):
            return _of_and(left, right, scope, depth)
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            sides = magnitude(left, scope, depth), magnitude(right, scope, depth)
            return None if sides[0] is None or sides[1] is None else sides[0] * sides[1]
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Subtract(), right=right):
            sides = magnitude(left, scope, depth), magnitude(right, scope, depth)
            return None if sides[0] is None or sides[1] is None else sides[0] + sides[1]
        case _ if where is not None and len(where.args) == 3:
            branches = [magnitude(branch.value, scope, depth) for branch in where.args[1:]]
            known = [bound for bound in branches if bound is not None]
            return max(known) if len(known) == len(branches) else None
        case _ if least is not None:
            inside = given(least, "x", 0)
            return magnitude(inside, scope, depth) if inside is not None else None
        case _:
            return None


def _of_and(left: cst.BaseExpression, right: cst.BaseExpression, scope: Scope, depth: int) -> int | None:
    """Bound `x & mask`: no more bits than a mask that is not negative has."""
    for side in (left, right):
        value = evaluate(side, scope)
        known = value.poly.known if isinstance(value, Number) else None
        if known is not None and known >= 0:
            return known
    sides = [magnitude(side, scope, depth) for side in (left, right)]
    return 1 if sides == [1, 1] else None

"""Write an exclusive or with three operations; the compiler makes four of it."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import Spelled, rephrase
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_INTEGERS = frozenset({"i8", "i16", "i32", "u8", "u16", "u32"})


def fewer_bit_ops(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `a ^ b` of integers into `(a | b) - (a & b)`: equal for all bits, without a borrow."""
    return rephrase("fewer_bit_ops", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    lines: list[str] = []
    text = _without_xor(node, scope, lines)
    return Spelled(text, tuple(lines)) if text is not None else None


def _without_xor(node: cst.BaseExpression, scope: Scope, lines: list[str]) -> str | None:
    """Write an exclusive or of tiles without it, its operands' own ones too."""
    match node:
        case cst.BinaryOperation(left=left, operator=cst.BitXor(), right=right):
            pass
        case _:
            return None
    is_tile = _is_integer(left, scope) and _is_integer(right, scope) and evaluate(node, scope).shape != ()
    if not is_tile or any(_is_all_ones(side) for side in (left, right)):
        return None
    a, b = (_operand(side, scope, lines) for side in (left, right))
    return f"(({a} | {b}) - ({a} & {b}))"


def _operand(node: cst.BaseExpression, scope: Scope, lines: list[str]) -> str:
    if isinstance(node, (cst.Name, cst.Integer)):
        return scope.file.text(node)
    inner = _without_xor(node, scope, lines)
    name = scope.file.fresh("bits")
    lines.append(f"{name} = {inner or scope.file.text(node)}")
    return name


def _is_all_ones(node: cst.BaseExpression) -> bool:
    """Tell whether `node` is -1: the exclusive or with that is one operation."""
    match node:
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer(value="1")):
            return True
        case _:
            return False


def _is_integer(node: cst.CSTNode, scope: Scope) -> bool:
    found = evaluate(node, scope)
    return isinstance(found, Number) or getattr(found, "dtype", None) in _INTEGERS

"""Write an exclusive or with three operations; the compiler makes four of it."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import rephrase
from agent.rewrite.values import Number, Opaque
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_INTEGERS = frozenset({"i8", "i16", "i32", "u8", "u16", "u32"})


def fewer_bit_ops(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `a ^ b` of integer variables into `(a | b) - (a & b)`: equal for all bits, without a borrow."""
    return rephrase("fewer_bit_ops", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    match node:
        case cst.BinaryOperation(
            left=cst.Name() as left, operator=cst.BitXor(), right=(cst.Name() | cst.Integer()) as right
        ):
            a, b = scope.file.text(left), scope.file.text(right)
            is_tile = _is_integer(left, scope) and _is_integer(right, scope) and evaluate(left, scope).shape != ()
            return f"(({a} | {b}) - ({a} & {b}))" if is_tile else None
        case _:
            return None


def _is_integer(node: cst.CSTNode, scope: Scope) -> bool:
    found = evaluate(node, scope)
    return isinstance(found, Number) or (isinstance(found, Opaque) and found.dtype in _INTEGERS)

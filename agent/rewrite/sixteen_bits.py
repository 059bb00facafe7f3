"""Compute 8-bit integers in 16 bits: the compiler computes them in float32."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import grouped, rephrase
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_OPERATORS: dict[type[cst.CSTNode], str] = {cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*"}
_BYTES = {"i8": "int8", "u8": "uint8"}


def sixteen_bits(subject: Subject, structure: Structure) -> Rewrite | None:
    """Widen the operands of sums and products of bytes to int16 and narrow the result; equal modulo 256."""
    return rephrase("sixteen_bits", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    if not isinstance(node, cst.BinaryOperation) or type(node.operator) not in _OPERATORS:
        return None
    found = evaluate(node, scope)
    kind = _BYTES.get(getattr(found, "dtype", None) or "")
    if kind is None or not found.shape:
        return None
    wide = _wide(node, scope)
    return f"({wide}).to({scope.file.language}.{kind})" if wide is not None else None


def _wide(node: cst.BaseExpression, scope: Scope) -> str | None:
    """Write `node` in 16 bits, its sums and products throughout."""
    if isinstance(node, cst.BinaryOperation) and type(node.operator) in _OPERATORS:
        sides = [_wide(side, scope) for side in (node.left, node.right)]
        if None in sides:
            return None
        texts = [
            f"({t})" if isinstance(s, cst.BinaryOperation) else t
            for s, t in zip((node.left, node.right), sides, strict=True)
        ]
        return f"{texts[0]} {_OPERATORS[type(node.operator)]} {texts[1]}"
    if isinstance(node, cst.Integer):
        return node.value
    kind = getattr(evaluate(node, scope), "dtype", None)
    return f"{grouped(node, scope.file)}.to({scope.file.language}.int16)" if kind in _BYTES else None

"""Shift by a tile of amounts in stages of one bit of the amount each: only a scalar amount is a vector instruction."""

from __future__ import annotations

import itertools
import math

import libcst as cst

from agent.records import Structure
from agent.rewrite.algebra import Poly
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import Spelled, named, rephrase
from agent.rewrite.render import NotWritable, write_sum
from agent.rewrite.values import Number, Shape, broadcast
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_OPERATORS: dict[type[cst.CSTNode], str] = {cst.LeftShift: "<<", cst.RightShift: ">>"}
_WORDS = frozenset({"i32", "u32"})
WORD_BITS = 32
# The amounts of a tile larger than this are not gone through one by one.
_MOST_AMOUNTS = 1 << 16


def staged_shift(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `x >> n` of words into selections between shifts by 1, 2, 4, 8 and 16, those that `n` can need.

    Exact for amounts from 0 to 31; a shift by any other amount is undefined.
    """
    return rephrase("staged_shift", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    if not isinstance(node, cst.BinaryOperation) or type(node.operator) not in _OPERATORS:
        return None
    value, amount = evaluate(node.left, scope), evaluate(node.right, scope)
    shape = broadcast(value.shape, amount.shape)
    is_word = value.bits in {0, WORD_BITS} if isinstance(value, Number) else getattr(value, "dtype", None) in _WORDS
    is_amount = isinstance(amount, Number) or getattr(amount, "dtype", None) in {"i8", "u8", "i16", "i32"}
    if not amount.shape or shape is None or not is_word or not is_amount:
        return None
    stages = _stages(amount.poly) if isinstance(amount, Number) else tuple(1 << bit for bit in range(5))
    if not stages:
        return None
    try:
        return _spell(node, stages, (shape, value.shape == shape), scope)
    except NotWritable:
        return None


def _stages(amount: Poly) -> tuple[int, ...] | None:
    """Return the powers of two that the amounts are sums of; None where they are not known or out of range."""
    affine = amount.split()
    if affine is None:
        return tuple(1 << bit for bit in range(5))
    sizes = [lane.size.known for lane in affine.coefficients]
    factors = [factor.known for factor in affine.coefficients.values()]
    start = affine.scalar.known
    if start is None or None in sizes or None in factors or math.prod(s or 1 for s in sizes) > _MOST_AMOUNTS:
        return tuple(1 << bit for bit in range(5))
    steps = [range(0, (size or 1) * (factor or 0), factor or 1) for size, factor in zip(sizes, factors, strict=True)]
    amounts = {start + sum(moved) for moved in itertools.product(*steps)}
    if min(amounts) < 0 or max(amounts) >= WORD_BITS:
        return None
    return tuple(1 << bit for bit in range(5) if any(amount >> bit & 1 for amount in amounts))


def _spell(node: cst.BinaryOperation, stages: tuple[int, ...], form: tuple[Shape, bool], scope: Scope) -> Spelled:
    file, tl, lines = scope.file, scope.file.language, list[str]()
    shape, fits = form
    operator, text = _OPERATORS[type(node.operator)], file.text(node.left)
    amount, shifted = named(node.right, "amount", file, lines), file.fresh("shifted")
    sizes = ", ".join(write_sum(size, scope) for size in shape) + ("," if len(shape) == 1 else "")
    is_scalar = not evaluate(node.left, scope).shape
    spread = f"{tl}.full(({sizes}), {text}, {tl}.int32)" if is_scalar else f"{tl}.broadcast_to({text}, ({sizes}))"
    lines.append(f"{shifted} = {text if fits else spread}")
    lines += [
        f"{shifted} = {tl}.where(({amount} & {stage}) != 0, {shifted} {operator} {stage}, {shifted})"
        for stage in stages
    ]
    return Spelled(shifted, tuple(lines))

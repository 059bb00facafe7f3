"""Take a remainder with vector operations: `%` of integers is a scalar loop."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.algebra import Poly
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import Spelled, named, rephrase
from agent.rewrite.render import NotWritable, write_factor
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

# The two quotients in float32 are exact enough below this (see `_by_quotient`).
MOST_DIVISOR = 1 << 22


def masked_remainder(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `x % d` of 32-bit integers, d a known positive number, into the same by masks or by float32 quotients."""
    return rephrase("masked_remainder", subject, structure, _change, message("rewrite.by_construction"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Modulo(), right=right):
            tile, divisor = evaluate(left, scope), evaluate(right, scope)
        case _:
            return None
    by = divisor.poly.known if isinstance(divisor, Number) and not divisor.shape else None
    is_word = tile.bits == 32 if isinstance(tile, Number) else getattr(tile, "dtype", None) == "i32"
    if by is None or not 1 < by < MOST_DIVISOR or not is_word or not tile.shape or not isinstance(divisor, Number):
        return None
    try:
        return _spell(left, divisor.poly, by, scope)
    except NotWritable:
        return None


def _spell(node: cst.BaseExpression, divisor: Poly, by: int, scope: Scope) -> Spelled:
    lines: list[str] = []
    value, d = named(node, "dividend", scope.file, lines), write_factor(divisor, scope)
    if divisor.literal is not None:
        is_power = by & (by - 1) == 0
        result, steps = _by_mask(value, d) if is_power else _by_quotient(value, d, scope)
        return Spelled(result, (*lines, *steps))
    rest = scope.file.fresh("remainder")
    mask, _ = _by_mask(value, d)
    quotient, steps = _by_quotient(value, d, scope)
    lines += [f"if ({d} & ({d} - 1)) == 0:", f"    {rest} = {mask}"]
    lines += [f"elif {d} < {MOST_DIVISOR}:", *(f"    {line}" for line in steps), f"    {rest} = {quotient}"]
    return Spelled(rest, (*lines, "else:", f"    {rest} = {value} % {d}"))


def _by_mask(x: str, d: str) -> tuple[str, list[str]]:
    """Round towards zero to a multiple of a power of two, and take that off."""
    return f"({x} - (({x} + (({x} >> 31) & ({d} - 1))) & (0 - {d})))", []


def _by_quotient(x: str, d: str, scope: Scope) -> tuple[str, list[str]]:
    """Take quotients off in float32, then correct.

    The first quotient is off by at most 3 * 2**-24 * 2**31 / d + 1, so less than 384 + d is left, which float32 holds
    exactly; after the second one it is at most d. What follows brings it into 0 .. d-1 and gives it the sign of x.
    """
    tl, left = scope.file.language, scope.file.fresh("left_over")
    quotient = f"({left}.to({tl}.float32) * (1.0 / {d})).to({tl}.int32)"
    steps = [
        f"{left} = {x} - ({x}.to({tl}.float32) * (1.0 / {d})).to({tl}.int32) * {d}",
        f"{left} = {left} - {quotient} * {d}",
        f"{left} = {left} + (({left} >> 31) & {d}) - {d}",
        f"{left} = {left} + (({left} >> 31) & {d})",
    ]
    return f"({left} - (({x} >> 31) & ((0 - {left}) >> 31) & {d}))", steps

"""Compute the high half of a product from 16-bit parts: the widening multiply is a scalar loop."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.expressions import Spelled, call_of, given, named, rephrase
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_WORDS = frozenset({"i32", "u32"})


def limb_product(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.umulhi(x, y)` of 32-bit words into four products of halves; exact for unsigned words."""
    return rephrase("limb_product", subject, structure, _change, message("rewrite.limb_product_precondition"))


def _change(node: cst.BaseExpression, scope: Scope) -> Spelled | None:
    call = call_of(node, scope, "umulhi")
    x, y = (given(call, "x", 0), given(call, "y", 1)) if call is not None else (None, None)
    if x is None or y is None or not (_is_word(x, scope) and _is_word(y, scope)):
        return None
    file, lines = scope.file, list[str]()
    halves: list[str] = []
    for side, wanted in ((x, "x_word"), (y, "y_word")):
        word = named(side, wanted, file, lines)
        low, high = file.fresh(f"{word}_low"), file.fresh(f"{word}_high")
        lines += [f"{low} = {word} & 0xFFFF", f"{high} = ({word} >> 16) & 0xFFFF"]
        halves += [low, high]
    a_low, a_high, b_low, b_high = halves
    cross, other = file.fresh("cross"), file.fresh("cross_low")
    # Each sum fits 32 bits without a sign: 0xFFFF * 0xFFFF + 0xFFFF < 2**32.
    lines.append(f"{cross} = {a_high} * {b_low} + ((({a_low} * {b_low}) >> 16) & 0xFFFF)")
    lines.append(f"{other} = {a_low} * {b_high} + ({cross} & 0xFFFF)")
    text = f"({a_high} * {b_high} + (({cross} >> 16) & 0xFFFF) + (({other} >> 16) & 0xFFFF))"
    return Spelled(text, tuple(lines))


def _is_word(node: cst.BaseExpression, scope: Scope) -> bool:
    found = evaluate(node, scope)
    if isinstance(found, Number):
        return found.bits <= 32
    return getattr(found, "dtype", None) in _WORDS

"""Scalar arithmetic on known numbers; whatever depends on data that is not known stays unknown (None)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from agent.perf.memref import MemRef, element_bits

Value = int | float | MemRef | None
_NUMBER = re.compile(r"^(-?\d+|-?\d+\.\d*(?:[eE][+-]?\d+)?|true|false)(?: : .*)?$")
_UNSIGNED = 6  # arith.cmpi predicates from 6 on compare unsigned
_INTEGER_BITS = 64


def read_constant(text: str) -> Value:
    """Read the `value` attribute of `arith.constant`; anything but a plain number is unknown."""
    found = _NUMBER.match(text)
    if not found:
        return None
    if found[1] in {"true", "false"}:
        return int(found[1] == "true")
    return int(found[1]) if found[1].lstrip("-").isdigit() else float(found[1])


def plan_compute(name: str, attributes: Mapping[str, str], result_type: str) -> Callable[[Sequence[Value]], Value]:
    """Return how to compute the `arith` operation `name`: None when an operand or the operation is not known."""
    if name == "select":
        return _select
    rule = _RULES.get(name)
    if name == "cmpi":
        predicate = int(attributes["predicate"].split(" ")[0])
        rule = _COMPARE[predicate if predicate < _UNSIGNED else predicate - 4]
    if rule is None:
        return lambda _: None
    fit = _fitting(result_type)

    def compute(operands: Sequence[Value]) -> Value:
        if not all(isinstance(value, int | float) for value in operands):
            return None
        try:
            return fit(rule(*operands))
        except (ZeroDivisionError, OverflowError, TypeError, ValueError):  # as undefined there as on the machine
            return None

    return compute


def _select(operands: Sequence[Value]) -> Value:
    """Choose; with an unknown condition two views of equal shape are one for us, two equal numbers too."""
    condition, first, second = operands
    if isinstance(condition, int | float):
        return first if condition else second
    if isinstance(first, MemRef):
        return first
    return first if first == second else None


def _fitting(result_type: str) -> Callable[[float], float]:
    """Return how to wrap an integer into the width of its type; i1 is kept as 0 or 1."""
    if result_type == "index" or not result_type.startswith("i"):
        return lambda value: value
    bits = element_bits(result_type)
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)

    def fit(value: float) -> float:
        kept = int(value) & mask
        return kept - mask - 1 if bits > 1 and kept & sign else kept

    return fit


def _divide(a: float, b: float) -> float:
    """Divide as C does: towards zero."""
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return a / b


def _unsigned(value: float) -> int:
    return int(value) & ((1 << _INTEGER_BITS) - 1)


_COMPARE: tuple[Callable[..., float], ...] = (
    lambda a, b: int(a == b),
    lambda a, b: int(a != b),
    lambda a, b: int(a < b),
    lambda a, b: int(a <= b),
    lambda a, b: int(a > b),
    lambda a, b: int(a >= b),
)  # fmt: skip
_RULES: dict[str, Callable[..., float]] = {
    "addi": lambda a, b: a + b, "addf": lambda a, b: a + b,
    "subi": lambda a, b: a - b, "subf": lambda a, b: a - b,
    "muli": lambda a, b: a * b, "mulf": lambda a, b: a * b,
    "divsi": _divide, "divf": _divide,
    "divui": lambda a, b: _unsigned(a) // _unsigned(b),
    "remsi": lambda a, b: a - b * _divide(a, b),
    "remui": lambda a, b: _unsigned(a) % _unsigned(b),
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b), "ceildivui": lambda a, b: -(-a // b),
    "minsi": min, "minui": min, "minimumf": min, "minnumf": min,
    "maxsi": max, "maxui": max, "maximumf": max, "maxnumf": max,
    "andi": lambda a, b: a & b, "ori": lambda a, b: a | b, "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << min(b, _INTEGER_BITS),
    "shrsi": lambda a, b: a >> min(b, _INTEGER_BITS),
    "shrui": lambda a, b: _unsigned(a) >> min(b, _INTEGER_BITS),
    "negf": lambda a: -a,
    "index_cast": lambda a: a, "index_castui": lambda a: a, "extsi": lambda a: a, "extui": lambda a: a,
    "trunci": lambda a: a, "extf": lambda a: a, "truncf": lambda a: a,
    "sitofp": float, "uitofp": float, "fptosi": int, "fptoui": int,
}  # fmt: skip

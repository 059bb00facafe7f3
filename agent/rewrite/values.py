"""What an expression of a kernel is, as far as rewrites need to know it: offsets, pointers and masks of tiles."""

from __future__ import annotations

from dataclasses import dataclass

from agent.rewrite.algebra import Names, Poly, Symbol, single

Shape = tuple[Poly, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """An integer, scalar or tile: `bits` is its width, 0 for a Python number that takes the other operand's."""

    poly: Poly
    bits: int
    shape: Shape = ()


@dataclass(frozen=True, slots=True)
class Pointer:
    """A kernel argument `base` plus an offset in elements of `dtype`."""

    base: str
    dtype: str
    poly: Poly
    bits: int = 0
    shape: Shape = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right` of integers."""

    left: Number
    operator: str
    right: Number
    shape: Shape


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something else, written `text`; `dtype` and `shape` are None where not known."""

    text: str
    names: Names
    dtype: str | None = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Mask:
    """The conjunction of `parts`."""

    parts: tuple[Comparison | Opaque, ...]
    shape: Shape


Value = Number | Pointer | Mask | Opaque


def scalar(symbol: Symbol) -> Number:
    """Make the scalar integer that is `symbol`."""
    return Number(single(symbol), symbol.bits)


def broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    """Return the shape of an element-wise operation; None where either is unknown or they do not fit."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    one = Poly((((), 1),))
    left, right = ((one,) * (rank - len(s)) + s for s in (a, b))
    joined: list[Poly] = []
    for x, y in zip(left, right, strict=True):
        if x != y and one not in {x, y} and (x.known is None or x.known != y.known):
            return None
        joined.append(y if x == one else x)
    return tuple(joined)

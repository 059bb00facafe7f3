"""Integer offsets as sums of products: of scalars of the kernel, and of the lanes of its tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Names = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A scalar integer of the kernel, written `text` wherever the variables `names` have these versions.

    `value` is known for a constexpr. `bits` is the width that the compiler computes it in.
    """

    text: str
    names: Names = ()
    bits: int = field(default=32, compare=False)
    value: int | None = field(default=None, compare=False)

    @property
    def order(self) -> str:
        """Return the key that puts the factors of a product in one order."""
        return f"s{self.text}"


@dataclass(frozen=True, slots=True)
class Lane:
    """The index along one axis of a tile, `0 .. size-1`; `axis` counts from the last, -1."""

    size: Poly
    axis: int = -1

    @property
    def order(self) -> str:
        """Return the key that puts the factors of a product in one order."""
        return f"l{self.axis}{self.size.terms}"


Factor = Symbol | Lane
Product = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Poly:
    """A sum of products with integer coefficients, in a normal form: equal sums compare equal."""

    terms: tuple[tuple[Product, int], ...] = ()

    @staticmethod
    def collect(terms: Iterable[tuple[Product, int]]) -> Poly:
        """Sum `terms`, putting factors and products in order and dropping zeros."""
        found: dict[Product, int] = {}
        for product, count in terms:
            key = tuple(sorted(product, key=lambda factor: factor.order))
            found[key] = found.get(key, 0) + count
        kept = [(product, count) for product, count in found.items() if count]
        return Poly(tuple(sorted(kept, key=lambda term: [factor.order for factor in term[0]])))

    def __add__(self, other: Poly) -> Poly:
        return Poly.collect((*self.terms, *other.terms))

    def __neg__(self) -> Poly:
        return Poly(tuple((product, -count) for product, count in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        return Poly.collect(((*a, *b), n * m) for a, n in self.terms for b, m in other.terms)

    @property
    def literal(self) -> int | None:
        """Return the number that this is whatever the launch, else None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def known(self) -> int | None:
        """Return the number that this is with the constexprs of the launch, else None."""
        total = 0
        for product, count in self.terms:
            for factor in product:
                if not isinstance(factor, Symbol) or factor.value is None:
                    return None
                count *= factor.value  # noqa: PLW2901 - the product so far
            total += count
        return total

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Return the scalars, those of the lanes' sizes not among them."""
        return tuple(factor for product, _ in self.terms for factor in product if isinstance(factor, Symbol))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Return the lanes, each once, outermost axis first."""
        found = {factor for product, _ in self.terms for factor in product if isinstance(factor, Lane)}
        return tuple(sorted(found, key=lambda lane: (lane.axis, lane.order)))

    def split(self) -> Affine | None:
        """Separate scalar part and the coefficient of each lane; None where lanes are multiplied by lanes."""
        scalar: list[tuple[Product, int]] = []
        by_lane: dict[Lane, list[tuple[Product, int]]] = {}
        for product, count in self.terms:
            lanes = [factor for factor in product if isinstance(factor, Lane)]
            if len(lanes) > 1:
                return None
            rest = tuple(factor for factor in product if isinstance(factor, Symbol))
            (by_lane.setdefault(lanes[0], []) if lanes else scalar).append((rest, count))
        coefficients = {lane: Poly.collect(by_lane[lane]) for lane in sorted(by_lane, key=lambda lane: lane.axis)}
        return Affine(Poly.collect(scalar), coefficients)

    def divide(self, divisor: Poly) -> Poly | None:
        """Return the sum that times `divisor`, one product, is this; None where there is none for every value."""
        if len(divisor.terms) != 1:
            return None
        factors, by = divisor.terms[0]
        quotient: list[tuple[Product, int]] = []
        for product, count in self.terms:
            rest = list(product)
            for factor in factors:
                if factor not in rest:
                    return None
                rest.remove(factor)
            if count % by:
                return None
            quotient.append((tuple(rest), count // by))
        return Poly.collect(quotient)

    def move_axes(self, moves: Callable[[int], int]) -> Poly:
        """Renumber the axes of all lanes."""

        def moved(factor: Factor) -> Factor:
            return Lane(factor.size, moves(factor.axis)) if isinstance(factor, Lane) else factor

        return Poly.collect((tuple(moved(factor) for factor in product), count) for product, count in self.terms)


@dataclass(frozen=True, slots=True)
class Affine:
    """A scalar plus a scalar coefficient times each lane."""

    scalar: Poly
    coefficients: Mapping[Lane, Poly]


def number(value: int) -> Poly:
    """Make the constant `value`."""
    return Poly.collect([((), value)])


def single(factor: Factor) -> Poly:
    """Make the sum that is one scalar or lane."""
    return Poly.collect([((factor,), 1)])

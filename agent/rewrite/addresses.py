"""Write whole addresses and masks back as source text."""

from __future__ import annotations

from collections.abc import Sequence

from agent.rewrite.algebra import Affine, Lane, Poly, number
from agent.rewrite.evaluate import Scope
from agent.rewrite.render import NotWritable, write_factor, write_lane, write_sum
from agent.rewrite.values import Comparison, Opaque, Pointer


def write_address(pointer: Pointer, rank: int, scope: Scope) -> str:
    """Write `pointer` as its base plus scalars plus lanes of `rank` axes. Raises `NotWritable`."""
    offsets = pointer.poly.split()
    if offsets is None:
        raise NotWritable
    return " + ".join([pointer.base, *write_offsets(offsets, rank, scope, wide=pointer.bits == 64)]).replace(
        "+ -", "- "
    )


def write_offsets(offsets: Affine, rank: int, scope: Scope, *, wide: bool) -> list[str]:
    """Write the summands of an offset: the scalar ones as one, then each lane's. Raises `NotWritable`."""
    scalar = [write_sum(offsets.scalar, scope, wide=wide)] if offsets.scalar.terms else []
    return [*scalar, *(write_term(lane, f, rank, scope, wide=wide) for lane, f in offsets.coefficients.items())]


def write_term(lane: Lane, factor: Poly, rank: int, scope: Scope, *, wide: bool = False) -> str:
    """Write a lane times its coefficient. Raises `NotWritable`."""
    index = write_lane(lane, rank, scope)
    return index if factor == number(1) else f"{index} * {write_factor(factor, scope, wide=wide)}"


def write_part(part: Comparison | Opaque, rank: int, scope: Scope) -> str:
    """Write one condition of a mask; anything but a comparison only as it stands. Raises `NotWritable`."""
    if isinstance(part, Opaque):
        if not scope.holds(part.names) or (part.shape and len(part.shape) != rank):
            raise NotWritable
        return part.text
    affine = (part.left.poly - part.right.poly).split()
    if affine is None:
        raise NotWritable
    wide = max(part.left.bits, part.right.bits) == 64
    if not affine.coefficients:
        left, right = (write_sum(side.poly, scope, wide=wide) for side in (part.left, part.right))
        return f"{left} {part.operator} {right}"
    lanes = [write_term(lane, factor, rank, scope) for lane, factor in affine.coefficients.items()]
    return f"{' + '.join(lanes)} {part.operator} {write_sum(-affine.scalar, scope, wide=wide)}"


def join_mask(parts: Sequence[str]) -> str:
    """Join conditions by `&`."""
    return parts[0] if len(parts) == 1 else " & ".join(f"({part})" for part in parts)

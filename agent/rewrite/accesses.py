"""The loads of a kernel, and the bounds that their masks put on one axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from agent.rewrite.algebra import Affine, Lane, Poly
from agent.rewrite.evaluate import ONE, evaluate
from agent.rewrite.flow import Point
from agent.rewrite.source import argument, walk
from agent.rewrite.values import Comparison, Mask, Opaque, Pointer

# Keywords of tl.load that say nothing about which elements are read.
HARMLESS_KEYWORDS = ("other", "cache_modifier", "eviction_policy", "care_padding")

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Load:
    """A `tl.load` of a tile: where it stands, its address, and its mask (None: all lanes)."""

    call: cst.Call
    point: Point
    pointer: Pointer
    offsets: Affine
    mask: Mask | None

    @property
    def rank(self) -> int:
        """Return the number of axes of the tile."""
        return len(self.pointer.shape)

    def lane(self, axis: int) -> Lane | None:
        """Return the one lane along `axis`; None where there is none, or more."""
        found = [lane for lane in self.offsets.coefficients if lane.axis == axis]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Bound:
    """`lane operator limit`, where no lane is in `limit`."""

    operator: str
    limit: Poly
    bits: int


def find_loads(points: Iterable[Point]) -> Iterator[Load]:
    """Yield the loads of tiles in `points` whose address and mask are understood, in order of evaluation."""
    for point in points:
        if point.inline or not isinstance(point.statement, cst.BaseSmallStatement):
            continue
        for node in walk(point.statement):
            if isinstance(node, cst.Call) and point.scope.function(node.func) == "load":
                load = read_load(node, point)
                if load is not None:
                    yield load


def read_load(call: cst.Call, point: Point) -> Load | None:
    """Read one call of `tl.load`; None where its address or mask is not understood, or it is a scalar one."""
    address, mask = argument(call, "pointer", 0), argument(call, "mask", 1)
    positional = [given for given in call.args if given.keyword is None]
    keywords = {given.keyword.value for given in call.args if given.keyword is not None}
    if address is None or len(positional) > 3 or keywords - {"pointer", "mask", *HARMLESS_KEYWORDS}:
        return None
    pointer = evaluate(address.value, point.scope)
    if not isinstance(pointer, Pointer) or not pointer.shape:
        return None
    offsets = pointer.poly.split()
    condition = evaluate(mask.value, point.scope) if mask is not None else None
    if offsets is None or not (condition is None or isinstance(condition, Mask)):
        return None
    return Load(call, point, pointer, offsets, condition)


def bound_on(part: Comparison | Opaque, lane: Lane) -> Bound | None:
    """Read `part` as a bound on `lane` alone; None where it is anything else."""
    if isinstance(part, Opaque):
        return None
    affine = (part.left.poly - part.right.poly).split()
    if affine is None or set(affine.coefficients) != {lane}:
        return None
    factor = affine.coefficients[lane].literal
    if factor not in {1, -1}:
        return None
    operator = part.operator if factor == 1 else _MIRRORED[part.operator]
    limit = -affine.scalar if factor == 1 else affine.scalar
    return Bound(operator, limit, max(part.left.bits, part.right.bits))


def concerns(part: Comparison | Opaque, lane: Lane) -> bool:
    """Tell whether `part` may differ along the axis of `lane`."""
    if isinstance(part, Comparison):
        return any(found.axis == lane.axis for found in (part.left.poly - part.right.poly).lanes)
    if part.shape is None:
        return True
    return len(part.shape) >= -lane.axis and part.shape[lane.axis] != ONE

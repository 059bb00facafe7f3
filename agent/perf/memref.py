"""Memory references while a program is followed: sizes, strides, element width, space, and how they lie in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from indexer.ir.types import element_bits as element_bits  # noqa: PLC0414 - one of the words of this module too
from indexer.ir.types import memref, vector
from indexer.ir.types import row_major as row_major  # noqa: PLC0414

DYNAMIC = -(1 << 63)  # how MLIR writes "given by an operand" in static_sizes, static_strides and static_offsets


@dataclass(frozen=True, slots=True)
class MemRef:
    """A view of memory while a program is followed; a size or stride that is not known is None.

    Sizes and strides are in elements, `bits` is the width of an element (1 for a packed mask). `space` is gm, ub, cbuf
    (L1), cc (L0C) or "". `base` names the kernel parameter a GM view belongs to, "" for memory on the chip.
    """

    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    bits: int
    space: str
    base: str = ""

    @property
    def elements(self) -> int:
        """Return the number of elements; an unknown size counts as one."""
        return prod(1 if size is None else max(size, 0) for size in self.sizes)

    @property
    def bytes(self) -> int:
        """Return the useful bytes, padding between rows not counted."""
        return -(-self.elements * self.bits // 8)

    @property
    def run(self) -> int:
        """Return the elements that lie side by side from any start of a row: the contiguous piece."""
        length = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if size == 1:
                continue
            if size is None or stride != length:
                break
            length *= size
        return length

    @property
    def pieces(self) -> int:
        """Return how many contiguous pieces the view falls into."""
        return -(-self.elements // self.run) if self.run else 0

    @property
    def pitch_bytes(self) -> int | None:
        """Return the distance in bytes between two neighbouring pieces, None for one piece or an unknown stride."""
        length = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if size == 1:
                continue
            if size is None or stride is None:
                return None
            if stride != length:
                return stride * self.bits // 8
            length *= size
        return None


@lru_cache(maxsize=4096)
def parse_memref(text: str) -> MemRef | None:
    """Read a `memref<...>` type; None when `text` is another type. Sizes given by operands are None."""
    found = memref(text)
    return None if found is None else MemRef(found.shape, found.strides, found.element_bits, found.space)


@lru_cache(maxsize=4096)
def vector_bits(text: str) -> int:
    """Return the width of a `vector<64xf32>` type in bits, 0 for a type that is no vector."""
    found = vector(text)
    return 0 if found is None else found.elements * found.element_bits


def element_of(text: str) -> str:
    """Return the element type of a vector or memref type, the type itself otherwise."""
    found = memref(text) or vector(text)
    return text if found is None else found.element

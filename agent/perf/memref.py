"""Memory references: type text -> sizes, strides, element width and space, and how they lie in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from indexer.ir.brackets import split_commas

_SPACE = re.compile(r"address_space<(\w+)>")
_STRIDED = re.compile(r"strided<\[([^\]]*)\]")
_WIDTH = re.compile(r"^(?:bf|f|i|si|ui|tf)(\d+)|^f8\w*")
_INDEX_BITS = 64
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


def element_bits(text: str) -> int:
    """Return the width in bits of an element type such as `f32`, `bf16`, `i1` or `index`."""
    found = _WIDTH.match(text)
    if not found:
        return _INDEX_BITS
    return int(found[1]) if found[1] else 8


@lru_cache(maxsize=4096)
def parse_memref(text: str) -> MemRef | None:
    """Read a `memref<...>` type; None when `text` is another type. Sizes given by operands are None."""
    if not text.startswith("memref<"):
        return None
    shape, *rest = split_commas(text[len("memref<") : -1])
    *dims, element = shape.split("x") if not shape.startswith("*") else ("?", shape.rpartition("x")[2])
    sizes = tuple(None if dim == "?" else int(dim) for dim in dims)
    layout = _STRIDED.search(text)
    strides = _read_strides(layout[1]) if layout else row_major(sizes)
    space = next((found[1] for found in map(_SPACE.search, rest) if found), "")
    return MemRef(sizes, strides, element_bits(element), space)


def row_major(sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the strides of a dense array of these sizes."""
    strides: list[int | None] = []
    step: int | None = 1
    for size in reversed(sizes):
        strides.append(step)
        step = None if step is None or size is None else step * size
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def vector_bits(text: str) -> int:
    """Return the width of a `vector<64xf32>` type in bits, 0 for a type that is no vector."""
    if not text.startswith("vector<"):
        return 0
    *dims, element = text[len("vector<") : -1].replace("[", "").replace("]", "").split("x")
    return prod(int(dim) for dim in dims) * element_bits(element)


def element_of(text: str) -> str:
    """Return the element type of a vector or memref type, the type itself otherwise."""
    if text.startswith(("vector<", "memref<")):
        return split_commas(text[text.index("<") + 1 : -1])[0].rpartition("x")[2]
    return text


def _read_strides(text: str) -> tuple[int | None, ...]:
    return tuple(None if part == "?" else int(part) for part in split_commas(text))

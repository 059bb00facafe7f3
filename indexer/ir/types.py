"""Types of MLIR as text -> sizes, strides, element and memory space; the one place that reads them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from indexer.ir.brackets import closing, split_commas

_DIMENSION = re.compile(r"\[?(\?|\*|\d+)\]?x")
_STRIDED = re.compile(r"^strided<\[([^\]]*)\]")
_SPACE = re.compile(r"#hivm\.address_space<(\w+)>")
_WIDTH = re.compile(r"^(?:bf|f|i|si|ui|u|tf)(\d+)")
_INDEX_BITS = 64


@dataclass(frozen=True, slots=True)
class Shaped:
    """A memref, tensor or vector type; None stands for a dimension or stride known only at run time."""

    shape: tuple[int | None, ...]
    element: str
    strides: tuple[int | None, ...]
    space: str

    @property
    def element_bits(self) -> int:
        """Return the width of an element; an i1 counts as one bit."""
        return element_bits(self.element)

    @property
    def elements(self) -> int:
        """Return the number of elements, taking a dimension known only at run time as 1."""
        return math.prod(1 if d is None else d for d in self.shape)

    @property
    def bytes(self) -> int:
        """Return the size of the elements in bytes, at least 1."""
        return max(1, self.elements * self.element_bits // 8)

    @property
    def span_bytes(self) -> int | None:
        """Return the bytes from the first to the last element, gaps included; None where that is not known."""
        bits = known_bits(self.element)
        if bits is None or None in self.shape or None in self.strides:
            return None
        steps = [((d or 0) - 1) * (s or 0) for d, s in zip(self.shape, self.strides, strict=True)]
        return -(-(1 + sum(steps)) * bits // 8)

    @property
    def is_integer(self) -> bool:
        """Tell whether the elements are integers (an i1 mask is not)."""
        return self.element[:1] in {"i", "u", "s"} and self.element not in {"i1", "index"}


def shaped(text: str) -> Shaped | None:
    """Read the type of a buffer; None when it is no ranked memref or tensor."""
    return _read(text) if text.startswith(("memref<", "tensor<")) else None


def memref(text: str) -> Shaped | None:
    """Read a type; None when it is no memref."""
    return _read(text) if text.startswith("memref<") else None


def vector(text: str) -> Shaped | None:
    """Read a type; None when it is no vector."""
    return _read(text) if text.startswith("vector<") else None


@lru_cache(maxsize=8192)
def _read(text: str) -> Shaped:
    start = text.index("<") + 1
    parts = split_commas(text[start : closing(text, start - 1) - 1])
    sizes, element = _dimensions(parts[0])
    space = next((m[1] for m in map(_SPACE.search, parts[1:]) if m), "")
    layout = next((m for m in map(_STRIDED.match, parts[1:]) if m), None)
    strides = _listed(layout[1]) if layout else row_major(tuple(sizes))
    return Shaped(tuple(sizes), element, strides, space)


def known_bits(element: str) -> int | None:
    """Return the bits of an element type such as `f32`, `bf16`, `f8E4M3FN`, `i1` or `index`; None for another one."""
    if element == "index":
        return _INDEX_BITS
    found = _WIDTH.match(element)
    return int(found[1]) if found else None


def element_bits(element: str) -> int:
    """Return the width in bits of an element type; one that is not known counts as that of an index."""
    return known_bits(element) or _INDEX_BITS


def row_major(sizes: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the strides of a dense array of these sizes."""
    strides: list[int | None] = []
    step: int | None = 1
    for size in reversed(sizes):
        strides.append(step)
        step = None if size is None or step is None else step * size
    return tuple(reversed(strides))


def _dimensions(text: str) -> tuple[list[int | None], str]:
    """Split `4x?xf32` into its sizes and the element type."""
    sizes: list[int | None] = []
    match = _DIMENSION.match(text)
    while match:
        sizes.append(int(match[1]) if match[1].isdigit() else None)
        text = text[match.end() :]
        match = _DIMENSION.match(text)
    return sizes, text


def _listed(text: str) -> tuple[int | None, ...]:
    return tuple(None if part == "?" else int(part) for part in split_commas(text))

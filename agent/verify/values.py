"""Inputs and outputs of a host as the worker sends them: nested values, with tensors as views of raw storages.

What a candidate returned may be anything; every view is checked against its storage before it is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# PyTorch's names; what numpy lacks is read as the unsigned integer of its size.
_NUMPY: dict[str, str] = {
    "float64": "f8",
    "float32": "f4",
    "float16": "f2",
    "bfloat16": "u2",
    "float8_e4m3fn": "u1",
    "float8_e5m2": "u1",
    "complex64": "c8",
    "complex128": "c16",
    "int64": "i8",
    "int32": "i4",
    "int16": "i2",
    "int8": "i1",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "bool": "?",
}
FLOATS = frozenset({"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"})


class Malformed(ValueError):
    """A tensor reaches outside its storage, or is of a type that is not compared."""


@dataclass(frozen=True, slots=True)
class TensorView:
    """One tensor: PyTorch's dtype name, shape, strides and offset in elements, and the number of its storage."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        """Tell whether NaN and infinity exist in this type."""
        return self.dtype in FLOATS


@dataclass(frozen=True, slots=True)
class Values:
    """A nested value: `tree` in the worker's form, `blobs` the storages that its tensors name."""

    tree: Any
    blobs: Sequence[bytes]

    def tensors(self) -> list[TensorView]:
        """Return the tensors, depth first."""
        return [read_view(node) for node in tensor_nodes(self.tree)]

    def with_storage(self, number: int, content: bytes) -> Values:
        """Return the same value with one storage replaced."""
        return Values(self.tree, [content if i == number else blob for i, blob in enumerate(self.blobs)])


def tensor_nodes(tree: Any) -> list[dict[str, Any]]:
    """Return the tensors of a tree as they were sent, depth first, in the worker's own order."""
    if not isinstance(tree, dict):
        return []
    if tree.get("kind") == "tensor":
        return [tree]
    items = tree.get("items", [])
    values = [item[1] for item in items] if tree.get("kind") == "dict" else items
    return [node for value in values for node in tensor_nodes(value)]


# Deeper than any host's outputs; a deeper tree would exhaust the stack of whoever reads it.
_MOST_LEVELS = 32


def check_tree(tree: Any, storages: int, levels: int = _MOST_LEVELS) -> None:
    """Raise `Malformed` for a tree that no encoder of ours wrote, with that many storages."""
    if not isinstance(tree, dict):
        if isinstance(tree, list) or levels == 0:
            raise Malformed(f"{type(tree).__name__} for a value")
        return
    if levels == 0:
        raise Malformed(f"more than {_MOST_LEVELS} levels")
    kind, items = tree.get("kind"), tree.get("items", [])
    if kind == "tensor":
        if read_view(tree).storage >= storages:
            raise Malformed(f"storage {tree['blob']} of {storages}")
    elif kind in {"tuple", "list", "dict"} and isinstance(items, list):
        for item in items:
            if kind == "dict" and not (isinstance(item, list) and len(item) == 2):
                raise Malformed("an entry that is no pair")
            check_tree(item[1] if kind == "dict" else item, storages, levels - 1)
    elif kind not in {"dtype", "device", "opaque"}:
        raise Malformed(f"kind {str(kind)[:20]}")


def read_view(node: Mapping[str, Any]) -> TensorView:
    """Read one tensor's fields; raises `Malformed`."""
    try:
        view = TensorView(
            str(node["dtype"]),
            tuple(int(n) for n in node["shape"]),
            tuple(int(n) for n in node["strides"]),
            int(node["offset"]),
            int(node["blob"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(str(error)) from error
    if len(view.shape) != len(view.strides) or min(*view.shape, *view.strides, view.offset, view.storage) < 0:
        raise Malformed(f"shape {view.shape}, strides {view.strides}, offset {view.offset}")
    return view


def _item(view: TensorView) -> np.dtype[Any]:
    if view.dtype not in _NUMPY:
        raise Malformed(view.dtype)
    return np.dtype(_NUMPY[view.dtype])


def elements_of(view: TensorView, blob: bytes | bytearray) -> npt.NDArray[Any]:
    """Return the tensor's elements as a view of its storage (writable where `blob` is); raises `Malformed`."""
    item = _item(view)
    if view.elements == 0:
        return np.empty(view.shape, item)
    last = view.offset + sum((n - 1) * s for n, s in zip(view.shape, view.strides, strict=True))
    if (last + 1) * item.itemsize > len(blob):
        raise Malformed(f"element {last} of a storage of {len(blob)} bytes")
    flat = np.frombuffer(blob, item, len(blob) // item.itemsize)[view.offset :]
    return np.lib.stride_tricks.as_strided(flat, view.shape, [s * item.itemsize for s in view.strides])


def widen(array: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    """Return float elements as float64 (complex ones as complex128); integers and booleans stay as they are."""
    if dtype in {"bfloat16", "float8_e5m2"}:
        # Both are the upper half of the next larger format. A signalling NaN becomes a quiet one, which is no error.
        with np.errstate(invalid="ignore"):
            if dtype == "bfloat16":
                return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
            return (array.astype(np.uint16) << 8).view(np.float16).astype(np.float64)
    if dtype == "float8_e4m3fn":
        return np.asarray(_E4M3[array])
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _e4m3_table() -> npt.NDArray[np.float64]:
    """Return the 256 values of float8_e4m3fn: bias 7, no infinity, all ones is NaN (OCP OFP8 specification, 5.1)."""
    codes = np.arange(256)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    size = np.where(exponent == 0, mantissa * 2.0**-9, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0))
    size[(codes & 127) == 127] = np.nan
    return np.where(codes & 128, -size, size)


_E4M3 = _e4m3_table()

"""Tensors as they cross the sandbox's wall: raw memory with dtype, shape and strides; no torch needed to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexer.errors import ToolchainError

# torch's names -> numpy's; what numpy lacks is read as raw bits of the same width.
_NUMPY = {
    "float64": "f8", "float32": "f4", "float16": "f2", "bfloat16": "u2", "float8_e4m3fn": "u1", "float8_e5m2": "u1",
    "int64": "i8", "int32": "i4", "int16": "i2", "int8": "i1",
    "uint64": "u8", "uint32": "u4", "uint16": "u2", "uint8": "u1", "bool": "?",
    "complex64": "c8", "complex128": "c16",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HostTensor:
    """A tensor outside torch: `dtype` is torch's name, `array` a numpy view (raw bits for bfloat16 and float8)."""

    dtype: str
    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape."""
        return self.array.shape

    @property
    def is_float(self) -> bool:
        """Tell whether the elements are floating-point numbers."""
        return "float" in self.dtype

    def as_float64(self) -> NDArray[np.float64]:
        """Give the values in float64, exactly."""
        if self.dtype == "bfloat16":
            return (self.array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        if self.dtype.startswith("float8"):
            return _decode_float8(self.array, exponent_bits=5 if "e5m2" in self.dtype else 4)
        return self.array.astype(np.float64)


def _decode_float8(bits: NDArray[Any], exponent_bits: int) -> NDArray[np.float64]:
    """Decode e5m2 (IEEE-like) and e4m3fn (no infinity; all ones is NaN), OCP 8-bit floating point, revision 1.0."""
    mantissa_bits = 7 - exponent_bits
    bias = (1 << (exponent_bits - 1)) - 1
    codes = np.arange(256)
    sign = np.where(codes & 0x80, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    table = np.where(
        exponent == 0,
        sign * fraction * 2.0 ** (1 - bias),
        sign * (1 + fraction) * 2.0 ** (exponent.astype(float) - bias),
    )
    if exponent_bits == 5:
        special = exponent == 31
        table = np.where(special, np.where(fraction == 0, sign * np.inf, np.nan), table)
    else:
        table = np.where((codes & 0x7F) == 0x7F, np.nan, table)
    return np.asarray(table[bits.astype(np.int64)], dtype=np.float64)


def decode(tree: Any, blobs: Sequence[bytes]) -> Any:
    """Turn the wire form of a nested value into tuples, lists, dicts, numbers and `HostTensor`s.

    The wire comes from a stranger's process: raises `ToolchainError` for anything that does not add up.
    """
    if not isinstance(tree, dict):
        return tree
    kind = tree.get("kind")
    if kind == "tensor":
        return _decode_tensor(tree, blobs)
    if kind in ("tuple", "list"):
        items = [decode(item, blobs) for item in tree["items"]]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {str(name): decode(value, blobs) for name, value in tree["items"]}
    return str(tree.get("text", tree.get("name", kind)))


def _decode_tensor(tree: dict[str, Any], blobs: Sequence[bytes]) -> HostTensor:
    try:
        dtype = np.dtype(_NUMPY[tree["dtype"]])
        strides = tuple(int(n) * dtype.itemsize for n in tree["strides"])
        shape = tuple(int(n) for n in tree["shape"])
        blob = blobs[int(tree["blob"])]
        if 0 in shape:
            return HostTensor(tree["dtype"], np.empty(shape, dtype))
        # The constructor checks the bounds against the buffer.
        array = np.ndarray(shape, dtype, blob, int(tree["offset"]) * dtype.itemsize, strides)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ToolchainError("worker.bad_value", problem=str(error)) from error
    return HostTensor(tree["dtype"], array)


def tensors_of(value: Any) -> list[HostTensor]:
    """List the tensors of a nested value, in order."""
    if isinstance(value, HostTensor):
        return [value]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors_of(item)]
    return [t for item in value for t in tensors_of(item)] if isinstance(value, tuple | list) else []

"""Inputs for a kernel of which only types, constants and the grid are known: sizes are tried until the original fits.

All integers get one size, all tensors one extent, index tensors numbers below the size. Which sizes a kernel takes is
found by running the original: it has to end, to stay inside its tensors, and to leave something.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agent.records import KernelSource
from agent.verify.running import Inputs
from agent.verify.shapes import fill_random
from agent.verify.values import TensorView, Values

# Triton's names of element types -> PyTorch's.
_TYPES = {
    "fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u64": "uint64",
    "u32": "uint32", "u16": "uint16", "u8": "uint8", "i1": "bool", "u1": "bool",
}  # fmt: skip
_ITEM_BYTES = {
    "float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2, "bfloat16": 2,
    "int16": 2, "uint16": 2,
}  # fmt: skip
_MOST_ELEMENTS = 1 << 22
_LEAST_ELEMENTS = 4096
_SMALL_SIZES = (64, 17, 5, 1)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kernel is called with, as far as it is known: types in order, constants, the number of programs."""

    types: tuple[str, ...]
    constants: Mapping[str, object]
    programs: int


@dataclass(frozen=True, slots=True)
class Size:
    """One try: what every integer is, and how many elements every tensor has."""

    scalar: int
    elements: int


def read_shape(source: KernelSource) -> Shape | None:
    """Read it from the command line, or from the file's own SIG, CONSTS and GRID; None for a file that makes inputs."""
    entry = source.entry
    if entry.signature:
        return Shape(entry.signature, entry.constexprs, math.prod(entry.grid or (1,)))
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    if any(isinstance(s, ast.FunctionDef) and s.name in {"make_inputs", "get_inputs", "run"} for s in tree.body):
        return None
    found = dict(_literals(tree))
    types, grid, constants = found.get("SIG"), found.get("GRID", 1), found.get("CONSTS", {})
    if not isinstance(types, dict) or not isinstance(constants, dict):
        return None
    sizes = grid if isinstance(grid, (tuple, list)) else (grid,)
    if not all(isinstance(n, int) for n in sizes):
        return None
    return Shape(tuple(map(str, types.values())), constants, math.prod(sizes))


def _literals(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                yield statement.targets[0].id, ast.literal_eval(statement.value)
            except (ValueError, TypeError):
                continue


def sizes_to_try(shape: Shape) -> Iterator[Size]:
    """Yield sizes, the telling ones first: a whole grid with a ragged end, one block, then small ones."""
    block = max([n for n in shape.constants.values() if type(n) is int and n > 1], default=1)
    whole = shape.programs * block
    for scalar in dict.fromkeys((whole - 3, whole, block - 3, block, *_SMALL_SIZES)):
        elements = max(_LEAST_ELEMENTS, 2 * whole, scalar * max(block, scalar))
        if scalar > 0 and elements <= _MOST_ELEMENTS:
            yield Size(scalar, elements)


def generate(shape: Shape, size: Size, seed: int, count: int) -> Inputs:
    """Make one set of inputs; raises `KeyError` for an element type that we do not know."""
    random = np.random.default_rng(seed)
    items: list[Any] = []
    blobs: list[bytes] = []
    for kind in shape.types:
        if kind.startswith("*"):
            view = TensorView(_TYPES[kind.removeprefix("*k").removeprefix("*")], (size.elements,), (1,), 0, len(blobs))
            blobs.append(_storage(view, random, size.scalar))
            items.append(_node(view))
        else:
            items.append(size.scalar if kind[0] in "iu" else float(random.uniform(0.5, 1.5)))
    given = Values({"kind": "tuple", "items": items}, blobs)
    return Inputs({"kind": "tuple", "items": []}, given, count, has_reference=False)


def _storage(view: TensorView, random: np.random.Generator, most: int) -> bytes:
    storage = bytearray(view.elements * _ITEM_BYTES.get(view.dtype, 1))
    fill_random(view, storage, random, below=max(2, most))
    return bytes(storage)


def _node(view: TensorView) -> dict[str, Any]:
    parts: dict[str, Sequence[int]] = {"shape": list(view.shape), "strides": list(view.strides)}
    return {"kind": "tensor", "dtype": view.dtype, **parts, "offset": 0, "blob": view.storage}

"""Sizes beyond the given ones, and inputs beyond the made ones: what a rewrite meets only later."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from agent.verify.values import TensorView, Values, elements_of

# Sizes below are structure (a rank, a pair, a flag) rather than extents.
_LEAST_EXTENT = 8
# Large enough that a kernel has several programs and a tail, small enough to run in a moment.
_FIRST_ELEMENTS = 1 << 18
# Elements made NaN or infinite: a share that leaves most of every row as it was, within bounds.
_INJECTED_SHARE = 0.01
_INJECTED_MOST = 16


def odd_shape_line(text: str) -> str | None:
    """Return a line that adds to SHAPES of `text` its smallest entry with each even extent one less.

    None where SHAPES is no literal, or has nothing even.
    """
    shapes = _literal_shapes(text)
    if not shapes:
        return None
    smallest = min(shapes, key=_volume)
    odd = _made_odd(smallest)
    return None if odd == smallest else f"\n\nSHAPES = [*SHAPES, {odd!r}]\n"


def count_shapes(text: str) -> int:
    """Return how many shapes the file lists literally; 1 where it lists none."""
    return len(_literal_shapes(text)) or 1


def order_shapes(text: str, count: int) -> list[int]:
    """Return the numbers of the file's shapes in the order to run them: a middling one, then the small ones first.

    The first is the largest of at most `_FIRST_ELEMENTS` (where SHAPES is no literal: its first).
    """
    volumes = [_volume(entry) for entry in _literal_shapes(text)]
    if len(volumes) != count:
        return list(range(max(1, count)))
    rising = sorted(range(count), key=volumes.__getitem__)
    small = [number for number in rising if volumes[number] <= _FIRST_ELEMENTS]
    first = small[-1] if small else rising[0]
    return [first, *(number for number in rising if number != first)]


def _literal_shapes(text: str) -> list[Any]:
    try:
        statements = [s for s in ast.parse(text).body if isinstance(s, ast.Assign)]
        found = [s.value for s in statements for t in s.targets if isinstance(t, ast.Name) and t.id == "SHAPES"]
        return list(ast.literal_eval(found[-1])) if found else []
    except (SyntaxError, ValueError, TypeError):
        return []


def _volume(entry: Any) -> float:
    if isinstance(entry, bool) or not isinstance(entry, (int, tuple, list, dict)):
        return 1
    if isinstance(entry, int):
        return max(1, entry)
    parts = entry.values() if isinstance(entry, dict) else entry
    return float(np.prod([_volume(part) for part in parts], dtype=float))


def _made_odd(entry: Any) -> Any:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return entry - 1 if entry >= _LEAST_EXTENT and entry % 2 == 0 else entry
    if isinstance(entry, (tuple, list)):
        return type(entry)(_made_odd(part) for part in entry)
    return {k: _made_odd(v) for k, v in entry.items()} if isinstance(entry, dict) else entry


def with_noise(values: Values, view: TensorView, seed: int) -> Values:
    """Return `values` with one tensor's elements replaced by noise: what an output holds before it is written."""
    storage = bytearray(values.blobs[view.storage])
    fill_random(view, storage, np.random.default_rng(seed), below=100)
    return values.with_storage(view.storage, bytes(storage))


def fill_random(view: TensorView, storage: bytearray, random: np.random.Generator, *, below: int) -> None:
    """Fill a tensor with normal numbers; an integer one with numbers from 1 on (from 0, where there are but two)."""
    elements = elements_of(view, storage)
    if view.dtype == "bool":
        elements[...] = random.integers(0, 2, view.shape).astype(bool)
    elif view.dtype == "bfloat16":
        elements[...] = (random.normal(size=view.shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    elif view.dtype == "float8_e5m2":
        elements[...] = random.normal(size=view.shape).astype(np.float16).view(np.uint16) >> 8
    elif view.dtype == "float8_e4m3fn":
        elements[...] = random.integers(0, 0x70, view.shape)  # all of these are finite
    elif elements.dtype.kind in "fc":
        elements[...] = random.normal(size=view.shape).astype(elements.dtype)
    else:
        most = min(below, np.iinfo(elements.dtype).max)
        elements[...] = random.integers(1 if most > 2 else 0, most, view.shape).astype(elements.dtype)


# Bit patterns of NaN and the two infinities of the types that numpy lacks.
_PATTERNS: dict[str, dict[str, tuple[int, ...]]] = {
    "bfloat16": {"nan": (0x7FC0,), "inf": (0x7F80, 0xFF80)},
    "float8_e5m2": {"nan": (0x7F,), "inf": (0x7C, 0xFC)},
    "float8_e4m3fn": {"nan": (0x7F,), "inf": ()},
}
_NUMBERS = {"nan": (np.nan,), "inf": (np.inf, -np.inf)}


def with_injected(values: Values, view: TensorView, kind: str, seed: int) -> Values:
    """Return `values` with some elements of one float tensor made `nan` or `inf` (both signs)."""
    patterns: tuple[float, ...] = _PATTERNS.get(view.dtype, _NUMBERS)[kind]
    if not patterns or view.elements == 0:
        return values
    storage = bytearray(values.blobs[view.storage])
    elements, random = elements_of(view, storage), np.random.default_rng(seed)
    count = max(1, min(_INJECTED_MOST, int(view.elements * _INJECTED_SHARE)))
    for place in random.choice(view.elements, size=min(count, view.elements), replace=False):
        elements[np.unravel_index(int(place), view.shape)] = patterns[int(place) % len(patterns)]
    return values.with_storage(view.storage, bytes(storage))

"""The same values laid out in memory as a host may meet them later: rows apart from each other, arguments shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.verify.values import TensorView, Values, elements_of, tensor_nodes

# Elements between the rows: a multiple of 16, so that a launch is compiled for the same alignment.
_GAP = 16
# A NaN of every float type, and an integer far outside: what is read between the rows shows.
_FILL = 0xFF


def with_gaps(values: Values, number: int) -> Values:
    """Return `values` with tensor `number` in a storage of its own whose rows lie apart (one of rank 1: elements)."""
    view = values.tensors()[number]
    inner = view.shape[-1]
    row = inner + _GAP if len(view.shape) > 1 else 2
    strides = [1] if len(view.shape) > 1 else [row]
    for size in reversed(view.shape[1:]):
        strides.insert(0, row if len(strides) == 1 else strides[0] * size)
    old = elements_of(view, values.blobs[view.storage])
    span = sum((n - 1) * s for n, s in zip(view.shape, strides, strict=True)) + 1
    storage = bytearray([_FILL]) * (span * old.dtype.itemsize)
    spread = TensorView(view.dtype, view.shape, tuple(strides), 0, len(values.blobs))
    elements_of(spread, storage)[...] = old
    return Values(_replaced(values.tree, {number: spread}), [*values.blobs, bytes(storage)])


def with_shared(values: Values, first: int, second: int) -> Values:
    """Return `values` with tensor `second` being tensor `first`, memory and all."""
    return Values(_replaced(values.tree, {second: values.tensors()[first]}), values.blobs)


def is_plain(view: TensorView) -> bool:
    """Tell whether a tensor has elements, and these lie one after the other."""
    expected: list[int] = []
    step = 1
    for size in reversed(view.shape):
        expected.insert(0, step)
        step *= size
    return bool(view.shape) and view.elements > 1 and list(view.strides) == expected


def shareable(views: list[TensorView], changed: Mapping[int, object]) -> tuple[int, int] | None:
    """Return two inputs that a caller could pass as one: a read one and one written in place, else two read ones."""
    pairs = [
        (i, j)
        for i, one in enumerate(views)
        for j, other in enumerate(views)
        if i != j and i not in changed and (j in changed or i < j) and _exchangeable(one, other)
    ]
    return min(pairs, key=lambda pair: (pair[1] not in changed, pair), default=None)


def _exchangeable(one: TensorView, other: TensorView) -> bool:
    same = (one.shape, one.dtype, one.strides) == (other.shape, other.dtype, other.strides)
    return same and one.elements > 1 and one.storage != other.storage


def _replaced(tree: Any, views: Mapping[int, TensorView]) -> Any:
    nodes = {id(node): number for number, node in enumerate(tensor_nodes(tree))}
    return _copied(tree, nodes, views)


def _copied(tree: Any, nodes: Mapping[int, int], views: Mapping[int, TensorView]) -> Any:
    if not isinstance(tree, dict):
        return tree
    view = views.get(nodes.get(id(tree), -1))
    if view is not None:
        return {
            **tree,
            "shape": list(view.shape),
            "strides": list(view.strides),
            "offset": view.offset,
            "blob": view.storage,
        }
    if "items" not in tree:
        return tree
    if tree["kind"] == "dict":
        return {**tree, "items": [[item[0], _copied(item[1], nodes, views)] for item in tree["items"]]}
    return {**tree, "items": [_copied(item, nodes, views) for item in tree["items"]]}


def renumbered(tree: Any, by: int) -> Any:
    """Return a tree whose tensors name storages that come `by` later."""
    moved = {number: _moved(view, by) for number, view in enumerate(Values(tree, []).tensors())}
    return _replaced(tree, moved)


def _moved(view: TensorView, by: int) -> TensorView:
    return TensorView(view.dtype, view.shape, view.strides, view.offset, view.storage + by)

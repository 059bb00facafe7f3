"""How views of memory are made from others: `memref` operations and HIVM's pointer casts, on known sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from agent.perf.arithmetic import Value
from agent.perf.memref import DYNAMIC, MemRef, parse_memref, row_major
from indexer.ir.records import IrOp

_GROUP = re.compile(r"\[([\d, ]*)\]")


def make_view(op: IrOp, operands: Sequence[Value]) -> MemRef | None:
    """Return the view that `op` makes; None when `op` makes no memref."""
    declared = parse_memref(op.results[0].type) if op.results else None
    if declared is None:
        return None
    source = operands[0] if operands and isinstance(operands[0], MemRef) else None
    rule = _RULES.get(op.name)
    if rule is not None and source is not None:
        return rule(op, operands, source, declared)
    sizes = [value for value, shown in zip(operands, op.operands, strict=True) if shown.type == "index"]
    if op.name == "memref.view":
        sizes = sizes[1:]  # the first index is the byte shift
    view = _fill(declared, sizes)
    return replace(view, base=source.base, space=view.space or source.space) if source is not None else view


def _cast(_op: IrOp, _operands: Sequence[Value], source: MemRef, declared: MemRef) -> MemRef:
    """Keep what is known of the source; a cast only forgets or asserts."""
    if len(declared.sizes) != len(source.sizes):
        return replace(declared, base=source.base)
    sizes = tuple(s if s is not None else d for s, d in zip(source.sizes, declared.sizes, strict=True))
    bits = declared.bits or source.bits
    return MemRef(sizes, source.strides, bits, declared.space or source.space, source.base)


def _reinterpret(op: IrOp, operands: Sequence[Value], source: MemRef, declared: MemRef) -> MemRef:
    _, sizes, strides = _mixed(op, operands)
    return MemRef(sizes, strides, declared.bits, declared.space or source.space, source.base)


def _subview(op: IrOp, operands: Sequence[Value], source: MemRef, declared: MemRef) -> MemRef:
    """A part of a view; an unknown size is bounded by the whole, unit dimensions the type lost are dropped."""
    _, sizes, steps = _mixed(op, operands)
    bounded = [whole if size is None else size for size, whole in zip(sizes, source.sizes, strict=True)]
    strides = [
        None if step is None or stride is None else step * stride
        for step, stride in zip(steps, source.strides, strict=True)
    ]
    excess = len(bounded) - len(declared.sizes)
    kept = list(range(len(bounded)))
    for axis in range(len(bounded)):
        if excess and _static(op, "static_sizes")[axis] == 1:
            kept.remove(axis)
            excess -= 1
    return MemRef(
        tuple(bounded[i] for i in kept), tuple(strides[i] for i in kept), declared.bits,
        declared.space or source.space, source.base,
    )  # fmt: skip


def _collapse(op: IrOp, _operands: Sequence[Value], source: MemRef, declared: MemRef) -> MemRef:
    groups = _groups(op.attributes.get("reassociation", ""))
    if not groups:  # all unit dimensions were dropped
        return replace(declared, base=source.base)
    sizes = tuple(_product([source.sizes[i] for i in group]) for group in groups)
    strides = tuple(_innermost(source, group) for group in groups)
    return MemRef(sizes, strides, declared.bits, declared.space or source.space, source.base)


def _innermost(source: MemRef, group: tuple[int, ...]) -> int | None:
    """Return the stride of a merged group: that of its last dimension that has more than one element."""
    for axis in reversed(group):
        if source.sizes[axis] != 1:
            return source.strides[axis]
    return source.strides[group[-1]]


def _expand(op: IrOp, operands: Sequence[Value], source: MemRef, declared: MemRef) -> MemRef:
    given = [v if isinstance(v, int) else None for v in operands[1:]]
    shape = _static(op, "static_output_shape") or tuple(DYNAMIC if s is None else s for s in declared.sizes)
    dynamic = iter(given)
    sizes = [next(dynamic, None) if size == DYNAMIC else size for size in shape]
    strides: list[int | None] = [None] * len(sizes)
    for axis, group in enumerate(_groups(op.attributes.get("reassociation", ""))):
        step = source.strides[axis]
        for inner in reversed(group):
            strides[inner] = step
            size = sizes[inner]
            step = None if step is None or size is None else step * size
    return MemRef(tuple(sizes), tuple(strides), declared.bits, declared.space or source.space, source.base)


def _transpose(op: IrOp, _operands: Sequence[Value], source: MemRef, declared: MemRef) -> MemRef:
    order = [int(i) for i in re.findall(r"d(\d+)", op.attributes.get("permutation", "").partition("->")[2])]
    if len(order) != len(source.sizes):
        return replace(declared, base=source.base)
    return replace(source, sizes=tuple(source.sizes[i] for i in order), strides=tuple(source.strides[i] for i in order))


def _retype(_op: IrOp, _operands: Sequence[Value], source: MemRef, declared: MemRef) -> MemRef:
    """Another element type over the same memory: sizes as declared, unknown ones as before."""
    if len(declared.sizes) != len(source.sizes):
        return replace(declared, base=source.base)
    sizes = tuple(d if d is not None else s for d, s in zip(declared.sizes, source.sizes, strict=True))
    return MemRef(sizes, source.strides, declared.bits, declared.space or source.space, source.base)


_RULES: dict[str, Callable[[IrOp, Sequence[Value], MemRef, MemRef], MemRef]] = {
    "memref.cast": _cast,
    "memref.memory_space_cast": _cast,
    "memref.reinterpret_cast": _reinterpret,
    "memref.subview": _subview,
    "memref.collapse_shape": _collapse,
    "memref.expand_shape": _expand,
    "memref.transpose": _transpose,
    "hivm.hir.bitcast": _retype,
}


def _mixed(
    op: IrOp, operands: Sequence[Value]
) -> tuple[tuple[int | None, ...], tuple[int | None, ...], tuple[int | None, ...]]:
    """Return offsets, sizes and strides, the static ones completed by operands in that order."""
    given = iter([v if isinstance(v, int) else None for v in operands[1:]])
    offsets, sizes, strides = (
        tuple(next(given, None) if value == DYNAMIC else value for value in _static(op, key))
        for key in ("static_offsets", "static_sizes", "static_strides")
    )
    return offsets, sizes, strides


def _static(op: IrOp, key: str) -> tuple[int, ...]:
    return read_array(op.attributes.get(key, ""))


@lru_cache(maxsize=4096)
def read_array(text: str) -> tuple[int, ...]:
    """Read `array<i64: 1, 2>` or `[1, 2]`; empty for an empty or missing attribute."""
    inside = text.partition(":")[2] if ":" in text else text
    return tuple(int(n) for n in re.findall(r"-?\d+", inside.replace("i64", "").replace("i32", "")))


@lru_cache(maxsize=1024)
def _groups(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(i) for i in group.split(",")) for group in _GROUP.findall(text) if group.strip())


def _fill(view: MemRef, sizes: Sequence[Value]) -> MemRef:
    if None not in view.sizes:
        return view
    given = iter([v if isinstance(v, int) else None for v in sizes])
    filled = tuple(next(given, None) if size is None else size for size in view.sizes)
    return replace(view, sizes=filled, strides=row_major(filled))


def _product(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None

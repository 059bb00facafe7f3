"""Load the contiguous range and pick every s-th element in UB, instead of a load with stride s."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.accesses import Bound, Load, bound_on, concerns, find_loads
from agent.rewrite.addresses import join_mask, write_offsets, write_part
from agent.rewrite.algebra import Affine, Lane, Poly, number
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.flow import KernelBody, read_body
from agent.rewrite.render import NotWritable, axis_view, write_factor, write_lane, write_sum
from agent.rewrite.source import Edit, argument, read_kernel
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

# A strided element takes one 32-byte block of UB, so beyond that stride the contiguous range is the larger of the two
# (AscendNPU-IR@52f96a130:bishengir/lib/Dialect/HIVM/Transforms/AlignBuffer/EnableStrideAlign.cpp#L360-L445).
BLOCK_BYTES = 32
MOST_STRIDE = 16
# A third of the 192 KiB of UB; a 2-D gather also keeps several index tiles, so an eighth of that.
MOST_BYTES = 64 * 1024
MOST_GATHERED_BYTES = 8 * 1024
ITEM_BYTES = {"fp32": 4, "i32": 4, "fp16": 2, "bf16": 2, "i16": 2, "i8": 1, "u8": 1}


@dataclass(frozen=True, slots=True)
class Strided:
    """A load whose last axis has the constant stride `stride`, written `factor`."""

    load: Load
    lane: Lane
    factor: Poly
    stride: int


def pick_stride(subject: Subject, structure: Structure) -> Rewrite | None:
    """Replace the strided loads at the structure's line; exact, since the skipped lanes are only read and dropped."""
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    found = [item for load in find_loads(body.at_line(structure.line)) for item in _strided(load)]
    for item in found:
        edits = _rewritten(item, body)
        source = file.apply(edits) if edits is not None else None
        if source is not None:
            claim = message("rewrite.pick_stride_claim", stride=item.stride, line=file.lines(item.load.call)[0])
            return Rewrite("pick_stride", source, claim, message("rewrite.pick_stride_precondition"))
    return None


def _strided(load: Load) -> Iterator[Strided]:
    lane = load.lane(-1)
    if lane is None or lane.size != load.pointer.shape[-1]:
        return
    factor = load.offsets.coefficients[lane]
    stride, size = factor.known, ITEM_BYTES.get(load.pointer.dtype, BLOCK_BYTES)
    if stride is None or not 1 < stride <= BLOCK_BYTES // size or not _fits(load, stride, size):
        return
    if stride in {2, 4, 8, 16} or load.rank <= 2:
        yield Strided(load, lane, factor, stride)


def _fits(load: Load, stride: int, size: int) -> bool:
    """Tell whether the whole range is small enough for UB, where its picked elements, indices and copies lie too."""
    width = _power_of_two(stride)
    elements = math.prod(extent.known or MOST_BYTES for extent in load.pointer.shape)
    most = MOST_GATHERED_BYTES if width != stride and load.rank > 1 else MOST_BYTES
    return elements * width * size <= most


def _rewritten(item: Strided, body: KernelBody) -> list[Edit] | None:
    """Put the wide load before the statement and the picked lanes in the place of the load."""
    file, point = body.file, item.load.point
    own = _own_target(item)
    picked = own or file.fresh("picked")
    try:
        lines = _picking_lines(item, picked, body)
        lines = lines and _guarded(item, lines, picked, body)
    except NotWritable:
        return None
    if not lines:
        return None
    if own is None:
        return [file.insert_before(point.line, point.statement, lines), file.replace(item.load.call, picked)]
    start, end = file.span(point.statement)
    before = file.insert_before(point.line, point.statement, lines[:-1])
    return [before, Edit(start, end, lines[-1])]


def _own_target(item: Strided) -> str | None:
    """Return `x` where the whole statement is `x = tl.load(...)`, or None."""
    match item.load.point.statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if (
            value is item.load.call
        ):
            return name
        case _:
            return None


def _guarded(item: Strided, lines: list[str], picked: str, body: KernelBody) -> list[str] | None:
    """Keep the strided form for other values of a constexpr stride, which another launch may have."""
    if item.factor.literal is not None:
        return lines
    test = f"if {write_factor(item.factor, item.load.point.scope)} == {item.stride}:"
    if test.encode() in body.file.data:
        return None
    original = body.file.text(item.load.call).replace("\n", "\n    ")
    if '"""' in original or _shares_line(item):
        return None
    return [test, *(f"    {line}" for line in lines), "else:", f"    {picked} = {original}"]


def _shares_line(item: Strided) -> bool:
    line = item.load.point.line
    return isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1 and _own_target(item) is not None


def _picking_lines(item: Strided, picked: str, body: KernelBody) -> list[str] | None:
    file, scope = body.file, item.load.point.scope
    tl, wide, power = file.language, file.fresh("wide"), _power_of_two(item.stride)
    arguments = _load_arguments(item, wide, body)
    if arguments is None:
        return None
    span, half = file.fresh("span"), file.fresh("span")
    lane_count = write_sum(item.lane.size * number(power), scope)
    lines = [f"{wide} = {tl}.arange(0, {lane_count}){axis_view(-1, item.load.rank)}"]
    lines.append(f"{span} = {tl}.load({arguments})")
    if power != item.stride:
        return [*lines, f"{picked} = {tl}.gather({span}, {_index(item, scope)}, {item.load.rank - 1})"]
    while power > 1:
        power //= 2
        source, half = half, picked if power == 1 else file.fresh(f"every_{item.stride // power}")
        rest = file.fresh("skipped" if power == 1 else f"skipped_{power}")
        lines.append(f"{half}, {rest} = {tl}.split({tl}.reshape({source}, {_half_shape(item, power, scope)}))")
    return lines


def _index(item: Strided, scope: Scope) -> str:
    """Write which wide lane each lane is, in the shape of the tile."""
    index = f"{write_lane(item.lane, item.load.rank, scope)} * {item.stride}"
    if item.load.rank == 1:
        return index
    shape = ", ".join(write_sum(size, scope) for size in item.load.pointer.shape)
    return f"{scope.file.language}.broadcast_to({index}, ({shape}))"


def _power_of_two(stride: int) -> int:
    return 1 << (stride - 1).bit_length()


def _half_shape(item: Strided, left: int, scope: Scope) -> str:
    """Write the tile's shape with pairs on a new last axis, `left` pairs an element."""
    *outer, _ = item.load.pointer.shape
    last = write_sum(item.lane.size * number(left), scope)
    return "(" + ", ".join([*(write_sum(size, scope) for size in outer), last, "2"]) + ")"


def _load_arguments(item: Strided, wide: str, body: KernelBody) -> str | None:
    """Write the arguments of the wide load: the same address without the stride, and the mask in wide lanes."""
    load, file = item.load, body.file
    scope = load.point.scope
    mask = _wide_mask(item, wide, scope)
    other = argument(load.call, "other", 2)
    if mask is None or (other is not None and evaluate(other.value, scope).shape != ()):
        return None
    given = [_wide_address(item, wide, scope), f"mask={mask}"]
    if load.mask is None:
        given.append("care_padding=False")  # the lanes that the mask cuts off are never picked
    kept = ("other", "cache_modifier", "eviction_policy", "care_padding")
    for name in kept:
        found = argument(load.call, name, 2 if name == "other" else None)
        if found is not None:
            given.append(f"{name}={file.text(found.value)}")
    return ", ".join(given)


def _wide_address(item: Strided, wide: str, scope: Scope) -> str:
    load = item.load
    kept = {lane: factor for lane, factor in load.offsets.coefficients.items() if lane != item.lane}
    offsets = write_offsets(Affine(load.offsets.scalar, kept), load.rank, scope, wide=load.pointer.bits == 64)
    return " + ".join([load.pointer.base, *offsets, wide]).replace("+ -", "- ")


def _wide_mask(item: Strided, wide: str, scope: Scope) -> str | None:
    """Write the mask in wide lanes: lane i is wide lane i*s, and nothing behind the last one needed is read."""
    parts: list[str] = []
    ends = False
    for part in item.load.mask.parts if item.load.mask is not None else ():
        bound = bound_on(part, item.lane)
        if bound is not None and bound.operator in {"<", "<=", ">", ">="}:
            parts.append(_wide_bound(bound, item.stride, wide, scope))
            ends = ends or bound.operator in {"<", "<="}
        elif not concerns(part, item.lane):
            parts.append(write_part(part, item.load.rank, scope))
        else:
            return None
    if not ends:
        parts.append(_wide_bound(Bound("<", item.lane.size, 0), item.stride, wide, scope))
    return join_mask(parts)


def _wide_bound(bound: Bound, stride: int, wide: str, scope: Scope) -> str:
    # i < n holds for whole lanes exactly when i*s < n*s - (s - 1); the other operators need no correction.
    limit = bound.limit * number(stride) - number(stride - 1 if bound.operator == "<" else 0)
    return f"{wide} {bound.operator} {write_sum(limit, scope, wide=bound.bits == 64)}"

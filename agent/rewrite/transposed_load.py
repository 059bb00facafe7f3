"""Load a tile in memory order and transpose it on chip, instead of reading it across its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import libcst as cst

from agent.records import Structure
from agent.rewrite.accesses import Load, find_loads
from agent.rewrite.addresses import join_mask, write_address, write_part
from agent.rewrite.evaluate import evaluate
from agent.rewrite.flow import KernelBody, Point, read_body
from agent.rewrite.render import NotWritable
from agent.rewrite.source import Edit, argument, read_kernel, walk
from agent.rewrite.values import Comparison, Opaque, Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


@dataclass(frozen=True, slots=True)
class Tile:
    """The statement that makes the addresses of a load: the load's own, or the one that sets a tile pointer."""

    point: Point
    pointer: Pointer
    node: cst.BaseExpression


def transposed_load(subject: Subject, structure: Structure) -> Rewrite | None:
    """Swap the axes of the address of a 2-D load and put `tl.trans` around it; exact for every stride."""
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    for load in find_loads(body.at_line(structure.line)):
        edits = _edits(load, body) if _reads_across(load) else None
        source = file.apply(edits) if edits is not None else None
        if source is not None:
            claim = message("rewrite.transposed_load_claim", line=file.lines(load.call)[0])
            return Rewrite("transposed_load", source, claim, message("rewrite.by_construction"))
    return None


def _reads_across(load: Load) -> bool:
    """Tell whether the first axis has stride 1 at this launch, and the last one another."""
    first, last = (load.lane(-2), load.lane(-1)) if load.rank == 2 else (None, None)
    if first is None or last is None:
        return False
    return load.offsets.coefficients[first].known == 1 and load.offsets.coefficients[last].known != 1


def _edits(load: Load, body: KernelBody) -> list[Edit] | None:
    file = body.file
    tile = _tile(load, body)
    other = argument(load.call, "other", 2)
    if tile is None or (other is not None and isinstance(other.value, (cst.Name, cst.Subscript))):
        return None
    try:
        address = write_address(_swapped_pointer(tile.pointer), load.rank, tile.point.scope)
        mask = _write_mask(load)
    except NotWritable:
        return None
    edits = [file.replace(tile.node, address)]
    given = argument(load.call, "mask", 1)
    if given is not None and mask is not None:
        edits.append(file.replace(given.value, mask))
    start, end = file.span(load.call)
    return [Edit(start, start, f"{file.language}.trans("), *edits, Edit(end, end, ")")]


def _tile(load: Load, body: KernelBody) -> Tile | None:
    """Find where the address is made; for `ptrs = ...` before the loop, only this load may use the pointer."""
    address = argument(load.call, "pointer", 0)
    if address is None:
        return None
    if not isinstance(address.value, cst.Name):
        return Tile(load.point, load.pointer, address.value)
    name = address.value.value
    made = [p for p in body.assignments(name) if isinstance(p.statement, cst.Assign)]
    moved = [p for p in body.assignments(name) if isinstance(p.statement, cst.AugAssign)]
    reads = sum(isinstance(n, cst.Name) and n.value == name for n in walk(body.file.kernel))
    if len(made) != 1 or reads != 2 + len(moved) or made[0].inline or name in body.parameters:
        return None
    if not all(_is_scalar_step(p) for p in moved):
        return None
    value = cst.ensure_type(made[0].statement, cst.Assign).value
    pointer = evaluate(value, made[0].scope)
    return Tile(made[0], pointer, value) if isinstance(pointer, Pointer) else None


def _is_scalar_step(point: Point) -> bool:
    return evaluate(cst.ensure_type(point.statement, cst.AugAssign).value, point.scope).shape == ()


def _swapped(axis: int) -> int:
    return -3 - axis


def _swapped_pointer(pointer: Pointer) -> Pointer:
    return replace(pointer, poly=pointer.poly.move_axes(_swapped))


def _write_mask(load: Load) -> str | None:
    if load.mask is None:
        return None
    return join_mask([write_part(_swapped_part(part), load.rank, load.point.scope) for part in load.mask.parts])


def _swapped_part(part: Comparison | Opaque) -> Comparison | Opaque:
    if isinstance(part, Opaque):
        if part.shape != ():
            raise NotWritable
        return part
    left, right = (replace(side, poly=side.poly.move_axes(_swapped)) for side in (part.left, part.right))
    return replace(part, left=left, right=right)

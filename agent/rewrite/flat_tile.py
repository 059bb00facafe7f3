"""Take rows that lie one behind the other as one range: a short last axis is padded to 32 bytes a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.accesses import bound_on
from agent.rewrite.addresses import write_address
from agent.rewrite.algebra import Affine, Poly, number
from agent.rewrite.elementwise import independent_sizes
from agent.rewrite.evaluate import evaluate
from agent.rewrite.expressions import body_of
from agent.rewrite.flow import KernelBody, Point
from agent.rewrite.looping import language_call
from agent.rewrite.render import NotWritable, write_factor, write_sum
from agent.rewrite.source import Edit, argument, walk
from agent.rewrite.values import Comparison, Mask, Number, Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


@dataclass(frozen=True, slots=True)
class Rows:
    """A tile of `rows` rows of `width` elements, each laid out in `padded` lanes of which the mask leaves `width`."""

    rows: Poly
    padded: Poly
    width: Poly


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store of such a tile."""

    point: Point
    call: cst.Call
    pointer: Pointer
    tile: Rows


def flat_tile(subject: Subject, _structure: Structure) -> Rewrite | None:
    """Address all tiles of an element-wise kernel by one range, where rows are contiguous; no element changes."""
    body = body_of(subject)
    accesses = list(_accesses(body)) if body is not None else []
    tiles = {access.tile for access in accesses if access is not None}
    if body is None or None in accesses or len(tiles) != 1 or not _is_elementwise(tiles, body):
        return None
    try:
        edits = [edit for access in accesses if access is not None for edit in _edits(access)]
    except NotWritable:
        return None
    source = body.file.apply(edits)
    if source is None:
        return None
    tile = next(iter(tiles))
    claim = message("rewrite.flat_tile_claim", width=tile.width.known)
    ground = message("rewrite.flat_tile_precondition", width=tile.width.known, padded=tile.padded.known)
    return Rewrite("flat_tile", source, claim, ground)


def _accesses(body: KernelBody) -> Iterator[Access | None]:
    """Yield every load and store; None for one that has another form."""
    for point in body.points:
        for node in walk(point.statement) if isinstance(point.statement, cst.BaseSmallStatement) else ():
            if isinstance(node, cst.Call) and language_call(node, body.file) in {"load", "store"}:
                yield _read(node, point)


def _read(call: cst.Call, point: Point) -> Access | None:
    address, is_store = argument(call, "pointer", 0), point.scope.function(call.func) == "store"
    mask = argument(call, "mask", 2 if is_store else 1)
    pointer = evaluate(address.value, point.scope) if address is not None else None
    bound = evaluate(mask.value, point.scope) if mask is not None else None
    offsets = pointer.poly.split() if isinstance(pointer, Pointer) and len(pointer.shape) == 2 else None
    if not isinstance(pointer, Pointer) or offsets is None or not isinstance(bound, Mask) or len(bound.parts) != 1:
        return None
    tile = _rows(offsets, bound.parts[0]) if isinstance(bound.parts[0], Comparison) else None
    return Access(point, call, pointer, tile) if tile is not None else None


def _rows(offsets: Affine, part: Comparison) -> Rows | None:
    lanes = {lane.axis: lane for lane in offsets.coefficients}
    if set(lanes) != {-1, -2} or offsets.coefficients[lanes[-1]] != number(1):
        return None
    width, bound = offsets.coefficients[lanes[-2]], bound_on(part, lanes[-1])
    padded, rows = lanes[-1].size, lanes[-2].size
    if bound is None or bound.operator != "<" or bound.limit != width or width.known is None:
        return None
    fits = padded.known is not None and rows.known is not None and 1 <= width.known <= padded.known
    return Rows(rows, padded, width) if fits else None


def _is_elementwise(tiles: set[Rows], body: KernelBody) -> bool:
    """Tell whether the tile's axes are seen by nothing but addresses and masks, and no lane by another."""
    tile = next(iter(tiles))
    if not {tile.rows, tile.padded} <= set(independent_sizes(body)):
        return False
    for point in body.points:
        if isinstance(point.statement, cst.BaseSmallStatement) and not _hides_axes(point):
            return False
    return True


def _hides_axes(point: Point) -> bool:
    statement = point.statement
    if isinstance(statement, (cst.Assign, cst.AnnAssign)) and statement.value is not None:
        found = evaluate(statement.value, point.scope)
        if isinstance(found, (Number, Mask)):
            return True
    return all(_is_plain(node, point) for node in _values(statement, point))


def _values(node: cst.CSTNode, point: Point) -> Iterator[cst.CSTNode]:
    """Yield what a statement reads, but the addresses and masks of its loads and stores."""
    name = language_call(node, point.scope.file)
    if isinstance(node, cst.Call) and name in {"load", "store"}:
        hidden = {argument(node, "pointer", 0), argument(node, "mask", 2 if name == "store" else 1)}
        for given in node.args:
            if given not in hidden:
                yield from _values(given.value, point)
        return
    yield node
    for child in node.children:
        yield from _values(child, point)


def _is_plain(node: cst.CSTNode, point: Point) -> bool:
    if language_call(node, point.scope.file) in {"zeros", "full", "arange"} or isinstance(node, cst.Subscript):
        return False
    found = evaluate(node, point.scope) if isinstance(node, cst.Name) else None
    return not (isinstance(found, (Number, Mask)) and found.shape)


def _edits(access: Access) -> list[Edit]:
    point, tile, call = access.point, access.tile, access.call
    file, scope = point.scope.file, point.scope
    name = scope.function(call.func)
    address, mask = argument(call, "pointer", 0), argument(call, "mask", 2 if name == "store" else 1)
    if address is None or mask is None:
        return []
    lanes = f"{file.language}.arange(0, {write_factor(tile.rows, scope)} * {write_factor(tile.padded, scope)})"
    offsets = access.pointer.poly.split()
    kept = offsets.scalar if offsets is not None else Poly()
    base = Pointer(access.pointer.base, access.pointer.dtype, kept, access.pointer.bits, (Poly(),))
    limit = write_sum(tile.rows * tile.width, scope)
    return [
        file.replace(address.value, f"{write_address(base, 1, scope)} + {lanes}"),
        file.replace(mask.value, f"{lanes} < {limit}"),
    ]

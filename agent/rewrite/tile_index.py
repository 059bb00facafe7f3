"""Give a flattened index that is taken apart by `//` and `%` its two axes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.algebra import Lane, Poly
from agent.rewrite.elementwise import block_size
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.flow import KernelBody, Point, read_body
from agent.rewrite.looping import language_call
from agent.rewrite.render import NotWritable, write_factor, write_sum
from agent.rewrite.source import Edit, read_kernel, walk
from agent.rewrite.values import Comparison, Mask, Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


@dataclass(frozen=True, slots=True)
class Flat:
    """`name = start + tl.arange(0, block)`, of which `// width` and `% width` are taken at `parts`."""

    name: str
    point: Point
    value: Number
    start: Poly
    block: Poly
    width: Poly
    parts: tuple[cst.BinaryOperation, ...]


def tile_index(subject: Subject, _structure: Structure) -> Rewrite | None:
    """Make the tile of an element-wise kernel 2-D where its flat index is divided by a constexpr that divides it."""
    file = read_kernel(subject.source, subject.launch.kernel)
    body = read_body(file, subject.launch) if file is not None else None
    flat = _find_flat(body) if body is not None else None
    if file is None or body is None or flat is None:
        return None
    try:
        edits = _edits(flat, body)
    except NotWritable:
        return None
    source = file.apply(edits) if edits is not None else None
    if source is None:
        return None
    claim = message("rewrite.tile_index_claim", name=flat.name, width=flat.width.known)
    return Rewrite("tile_index", source, claim, message("rewrite.by_construction"))


def _find_flat(body: KernelBody) -> Flat | None:
    """Find the one flat index; its block must be the tile of the whole kernel, made in that one place."""
    block = block_size(body)
    ranges = [node for node in walk(body.file.kernel.body) if language_call(node, body.file) == "arange"]
    if block is None or len(ranges) != 1:
        return None
    for point in body.points:
        match point.statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                made = evaluate(value, point.scope)
                if isinstance(made, Number) and made.shape and not point.inline and not _shares_line(point):
                    return _read_flat(name, point, made, body)
    return None


def _shares_line(point: Point) -> bool:
    return isinstance(point.line, cst.SimpleStatementLine) and len(point.line.body) > 1


def _read_flat(name: str, point: Point, made: Number, body: KernelBody) -> Flat | None:
    affine = made.poly.split()
    block = made.shape[0]
    if affine is None or affine.coefficients != {Lane(block): Poly((((), 1),))} or len(body.assignments(name)) != 1:
        return None
    found = list(_divisions(name, body))
    widths = {width for _, width in found}
    width = widths.pop() if len(widths) == 1 else None
    if width is None or width.known is None or block.known is None or width.known < 2 or block.known % width.known:
        return None
    return Flat(name, point, made, affine.scalar, block, width, tuple(node for node, _ in found))


def _divisions(name: str, body: KernelBody) -> Iterator[tuple[cst.BinaryOperation, Poly]]:
    for point in body.points:
        for node in walk(point.statement) if isinstance(point.statement, cst.BaseSmallStatement) else ():
            match node:
                case cst.BinaryOperation(
                    left=cst.Name(value=divided), operator=cst.FloorDivide() | cst.Modulo(), right=right
                ) if divided == name:
                    by = evaluate(right, point.scope)
                    if isinstance(by, Number) and by.poly.known is not None:
                        yield node, by.poly


def _edits(flat: Flat, body: KernelBody) -> list[Edit] | None:
    file, scope, tl = body.file, flat.point.scope, body.file.language
    rows, columns = file.fresh("tile_rows"), file.fresh("tile_cols")
    quotient = flat.start.divide(flat.block)
    bounds = _bound_edits(flat, body, rows)
    if quotient is None or bounds is None:
        return None
    block, width = write_factor(flat.block, scope), write_factor(flat.width, scope)
    count = f"{block} // {width}"
    first = f"{write_factor(quotient, scope)} * ({count}) + " if quotient.terms else ""
    lines = [
        f"{rows} = ({first}{tl}.arange(0, {count}))[:, None]",
        f"{columns} = {tl}.arange(0, {width})[None, :]",
        f"{flat.name} = {rows} * {width} + {columns}",
    ]
    if flat.block.literal is None or flat.width.literal is None:
        lines = _guarded(flat, body, lines, (rows, columns), f"{block} % {width} == 0")
    start, end = file.span(flat.point.statement)
    made = Edit(start, end, f"\n{file.indent(flat.point.line)}".join(lines))
    parts = [file.replace(n, rows if isinstance(n.operator, cst.FloorDivide) else columns) for n in flat.parts]
    return [made, *parts, *bounds]


def _guarded(flat: Flat, body: KernelBody, lines: list[str], names: tuple[str, str], test: str) -> list[str]:
    """Keep the flat form for constexprs of another launch that do not divide one another."""
    rows, columns = names
    width = write_factor(flat.width, flat.point.scope)
    original = body.file.text(flat.point.statement).replace("\n", "\n    ")
    kept = [original, f"{rows} = {flat.name} // {width}", f"{columns} = {flat.name} % {width}"]
    return [f"if {test}:", *(f"    {line}" for line in lines), "else:", *(f"    {line}" for line in kept)]


def _bound_edits(flat: Flat, body: KernelBody, rows: str) -> list[Edit] | None:
    """Bound the rows instead of the flat index; None for a bound that may end inside a row."""
    edits: list[Edit] = []
    for point in body.points:
        for node in walk(point.statement) if isinstance(point.statement, cst.BaseSmallStatement) else ():
            found = evaluate(node, point.scope) if isinstance(node, cst.Comparison) else None
            for part in found.parts if isinstance(found, Mask) else ():
                text = _row_bound(part, flat, point.scope, rows) if isinstance(part, Comparison) else ""
                if text is None:
                    return None
                edits += [body.file.replace(node, text)] if text else []
    return edits


def _row_bound(part: Comparison, flat: Flat, scope: Scope, rows: str) -> str | None:
    """Write the comparison for the rows; "" where it does not concern them, None where it cannot be."""
    if not (part.left.poly - part.right.poly).lanes:
        return ""
    if part.left.poly != flat.value.poly or part.operator != "<" or part.right.shape:
        return None
    limit = part.right.poly.divide(flat.width)
    return f"{rows} < {write_sum(limit, scope)}" if limit is not None else None

"""Compare indices in 32 bits: the vector unit has no 64-bit compare, so the compiler makes a scalar loop of it."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.algebra import Lane, Poly, Product, number
from agent.rewrite.evaluate import ONE, Scope, evaluate
from agent.rewrite.flow import KernelBody, Point, read_body
from agent.rewrite.render import NotWritable, write_lane, write_sum
from agent.rewrite.source import Edit, read_kernel, walk
from agent.rewrite.values import Comparison, Mask, Number, Opaque
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

INT32_END = 2**31 - 1


def narrow_compare(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn the 64-bit comparisons of `tl.arange` indices with scalars into exact 32-bit ones.

    Those at the structure's line, or all where none is there (the line may be the one that widens the index).

    `base + lane < bound` becomes `lane < bound - base`, its right side clamped as a scalar to one below and one above
    what the lanes reach: the outcome is the same for every value of the scalars.
    """
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    here = [edit for point in body.at_line(structure.line) for edit in _narrowed(point, body)]
    edits = here or [edit for point in body.points for edit in _narrowed(point, body)]
    source = file.apply(edits) if edits else None
    if source is None:
        return None
    claim = message("rewrite.narrow_compare_claim", count=len(edits))
    return Rewrite("narrow_compare", source, claim, message("rewrite.by_construction"))


def _narrowed(point: Point, body: KernelBody) -> list[Edit]:
    """Return the edits for the comparisons in the statement itself, the header of a block included."""
    edits: list[Edit] = []
    for node in _own_nodes(point.statement):
        if not isinstance(node, cst.Comparison):
            continue
        found = evaluate(node, point.scope)
        text = None
        if isinstance(found, Mask) and len(found.parts) == 1 and isinstance(found.parts[0], Comparison):
            text = _write_narrow(found.parts[0], point.scope)
        elif isinstance(found, Mask):
            text = _write_against_tile(node, found, point.scope)
        edits += [body.file.replace(node, text)] if text is not None else []
    return edits


def _own_nodes(statement: cst.CSTNode) -> list[cst.CSTNode]:
    match statement:
        case cst.BaseSmallStatement():
            return list(walk(statement))
        case cst.While() | cst.If():
            return list(walk(statement.test))
        case _:
            return []


def _write_narrow(found: Comparison, scope: Scope) -> str | None:
    """Write the comparison in 32 bits; None where it is not a 64-bit one of lanes with scalars."""
    if max(found.left.bits, found.right.bits) != 64 or not found.shape:
        return None
    affine = (found.left.poly - found.right.poly).split()
    if affine is None or not affine.coefficients:
        return None
    factors = {lane: coefficient.literal for lane, coefficient in affine.coefficients.items()}
    if any(factor is None for factor in factors.values()):
        return None
    known = {lane: factor for lane, factor in factors.items() if factor is not None}
    low, high = _reach(known)
    if low.known is None or high.known is None or low.known <= -INT32_END or high.known >= INT32_END:
        return None
    try:
        lanes = _write_lanes(known, len(found.shape), scope)
        bound = _write_bound(-affine.scalar, low, high, scope)
    except NotWritable:
        return None
    return f"{lanes} {found.operator} {bound}" if bound is not None else None


def _write_against_tile(node: cst.Comparison, found: Mask, scope: Scope) -> str | None:
    """Write `lane < wide[:, None]`, where the 64-bit values come from memory and are fewer than the comparisons."""
    target = node.comparisons[0]
    lanes, bound = evaluate(node.left, scope), evaluate(target.comparator, scope)
    if not isinstance(lanes, Number) or not isinstance(bound, Opaque) or bound.dtype != "i64" or bound.shape is None:
        return None
    affine = lanes.poly.split()
    if affine is None or affine.scalar.terms or len(bound.shape) != len(found.shape):
        return None
    factors = {lane: factor.literal for lane, factor in affine.coefficients.items()}
    known = {lane: factor for lane, factor in factors.items() if factor is not None}
    if len(known) != len(factors) or any(bound.shape[lane.axis] != ONE for lane in known):
        return None
    low, high = _reach(known)
    if low.known is None or high.known is None or low.known <= -INT32_END or high.known >= INT32_END:
        return None
    file, tl = scope.file, scope.file.language
    try:
        ends = write_sum(low, scope), write_sum(high, scope)
        index = _write_lanes(known, len(found.shape), scope)
    except NotWritable:
        return None
    clamped = f"{tl}.minimum({tl}.maximum({file.text(target.comparator)}, {ends[0]}), {ends[1]}).to({tl}.int32)"
    operator = file.data[file.span(node.left)[1] : file.span(target.comparator)[0]].decode().strip("( )")
    return f"{index} {operator} {clamped}" if operator in {"<", "<=", ">", ">=", "==", "!="} else None


def _reach(factors: dict[Lane, int]) -> tuple[Poly, Poly]:
    """Return one below the least, and one above the greatest, value of the sum of the lanes."""
    low, high = number(-1), number(1)
    for lane, factor in factors.items():
        last = (lane.size - number(1)) * number(factor)
        low, high = (low, high + last) if factor > 0 else (low + last, high)
    return low, high


def _write_lanes(factors: dict[Lane, int], rank: int, scope: Scope) -> str:
    parts: list[str] = []
    for lane, factor in sorted(factors.items(), key=lambda item: (item[1] < 0, item[0].axis)):
        size = write_lane(lane, rank, scope) + (f" * {abs(factor)}" if abs(factor) != 1 else "")
        sign = "-" if factor < 0 else "+"
        parts.append((f"-{size}" if factor < 0 else size) if not parts else f" {sign} {size}")
    return "".join(parts)


def _write_bound(bound: Poly, low: Poly, high: Poly, scope: Scope) -> str | None:
    """Write the scalar side as a 32-bit number; None for a constant that does not fit one."""
    symbols = bound.symbols
    if bound.known is not None:
        return write_sum(bound, scope) if abs(bound.known) < INT32_END else None
    if len(bound.terms) == 1 and bound.terms[0][1] == 1 and len(symbols) == 1 and symbols[0].bits == 32:
        return write_sum(bound, scope)
    tl = scope.file.language
    value = _write_wide(bound, scope)
    ends = write_sum(low, scope), write_sum(high, scope)
    return f"{tl}.minimum({tl}.maximum({value}, {ends[0]}), {ends[1]}).to({tl}.int32)"


def _write_wide(bound: Poly, scope: Scope) -> str:
    """Write `bound` as one 64-bit scalar; a lone run-time variable is cast, since a value of 1 may be a constexpr."""
    terms: tuple[tuple[Product, int], ...] = bound.terms
    if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
        return f"{scope.file.language}.cast({write_sum(bound, scope)}, {scope.file.language}.int64)"
    return write_sum(bound, scope, wide=True)

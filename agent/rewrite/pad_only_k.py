"""Tell the compiler that the operands of a product need zeros behind their masks along K only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.accesses import Load, find_loads
from agent.rewrite.algebra import Poly
from agent.rewrite.evaluate import evaluate, is_elementwise
from agent.rewrite.flow import KernelBody, Point, read_body
from agent.rewrite.looping import language_call
from agent.rewrite.source import argument, read_kernel, walk
from agent.rewrite.values import Comparison, Mask
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

HINT = "dot_pad_only_k"
_NOT_MIXING = frozenset(
    {
        "arange",
        "cdiv",
        "compile_hint",
        "dot",
        "full",
        "load",
        "num_programs",
        "program_id",
        "range",
        "store",
        "trans",
        "zeros",
    }
)


@dataclass(frozen=True, slots=True)
class Operand:
    """A masked load whose value is an operand of `tl.dot`; `k_axis` is the axis that the product sums over."""

    load: Load
    name: str
    k_axis: int


def pad_only_k(subject: Subject, structure: Structure) -> Rewrite | None:
    """Hint the masked operands of the products at or around the structure's line.

    With the hint the cube multiplies the valid part only (AscendNPU-IR@8796a8ac:bishengir/lib/Dialect/HIVM/Transforms/
    NormalizeMatmul.cpp#L153-L156), so rows and columns behind a mask hold anything: none of them may reach a store.
    """
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None or HINT in subject.source:
        return None
    body = read_body(file, subject.launch)
    operands = list(_operands(body))
    near = [o for o in operands if structure.line is None or structure.line in file.lines(o.load.point.statement)]
    if not near or not _treats_lanes_alike(body) or not all(_is_cut_off(operand, body) for operand in operands):
        return None
    tl = file.language
    edits = [file.insert_after(o.load.point.line, [f'{tl}.compile_hint({o.name}, "{HINT}")']) for o in operands]
    source = file.apply(edits)
    if source is None:
        return None
    names = ", ".join(operand.name for operand in operands)
    return Rewrite(
        "pad_only_k", source, message("rewrite.pad_only_k_claim", names=names), message("rewrite.by_construction")
    )


def _operands(body: KernelBody) -> Iterator[Operand]:
    """Yield the operands that a statement of their own loads, padded with zeros."""
    axes = dict(_dot_operands(body))
    for load in find_loads(body.points):
        match load.point.statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value) if value is load.call:
                if name in axes and load.mask is not None and _pads_zero(load, load.point):
                    yield Operand(load, name, axes[name])
            case _:
                pass


def _dot_operands(body: KernelBody) -> Iterator[tuple[str, int]]:
    for node in walk(body.file.kernel.body):
        if isinstance(node, cst.Call) and language_call(node, body.file) == "dot":
            for keyword, position, axis in (("input", 0, -1), ("other", 1, -2)):
                given = argument(node, keyword, position)
                if given is not None and isinstance(given.value, cst.Name):
                    yield given.value.value, axis


def _pads_zero(load: Load, point: Point) -> bool:
    other = argument(load.call, "other", 2)
    if other is None:
        return argument(load.call, "care_padding") is None
    return isinstance(other.value, (cst.Integer, cst.Float)) and float(other.value.value) == 0.0 and not point.inline


def _treats_lanes_alike(body: KernelBody) -> bool:
    """Tell whether nothing but the products mixes lanes, so that what lies behind a mask stays there."""
    scopes = {id(node): point.scope for point in body.points for node in walk(point.statement)}
    for node in walk(body.file.kernel.body):
        if isinstance(node, cst.Call) and id(node) in scopes:
            name = scopes[id(node)].function(node.func)
            if name not in _NOT_MIXING and not is_elementwise(node, scopes[id(node)]) and not _is_range(node):
                return False
    return True


def _is_range(node: cst.Call) -> bool:
    return isinstance(node.func, cst.Name) and node.func.value in {"range", "float", "int", "min", "max"}


def _is_cut_off(operand: Operand, body: KernelBody) -> bool:
    """Tell whether each condition of the mask that is not along K stands in the mask of every store too."""
    mask = operand.load.mask
    outer = [_key(part) for part in mask.parts if not _along_k(part, operand)] if mask is not None else [None]
    stores = list(_store_masks(body))
    return bool(stores) and all(key is not None and all(key in keys for keys in stores) for key in outer)


def _along_k(part: object, operand: Operand) -> bool:
    if not isinstance(part, Comparison):
        return False
    lanes = (part.left.poly - part.right.poly).lanes
    return bool(lanes) and all(lane.axis == operand.k_axis for lane in lanes)


def _key(part: object) -> tuple[str, Poly] | None:
    return (part.operator, part.left.poly - part.right.poly) if isinstance(part, Comparison) else None


def _store_masks(body: KernelBody) -> Iterator[set[tuple[str, Poly] | None]]:
    for point in body.points:
        for node in walk(point.statement) if isinstance(point.statement, cst.BaseSmallStatement) else ():
            if isinstance(node, cst.Call) and language_call(node, body.file) == "store":
                given = argument(node, "mask", 2)
                found = evaluate(given.value, point.scope) if given is not None else None
                yield {_key(part) for part in found.parts} if isinstance(found, Mask) else set()

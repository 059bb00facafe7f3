"""Load a small table into UB once and pick from it there, instead of one access to global memory an element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agent.records import Launch, Structure, TensorArgument
from agent.rewrite.evaluate import evaluate
from agent.rewrite.flow import KernelBody, Point, read_body
from agent.rewrite.launchsite import (
    add_constants,
    all_launches_seen,
    argument_of,
    constant_host,
    find_launches,
    is_repeatable,
)
from agent.rewrite.looping import add_parameters
from agent.rewrite.source import Edit, argument, read_kernel, walk
from agent.rewrite.values import Opaque, Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

# A quarter of the 192 KiB of UB: the table, its indices, the picked values and a second buffer of each must fit.
TABLE_BYTES = 48 * 1024
ITEM_BYTES = {"fp32": 4, "i32": 4, "fp16": 2, "bf16": 2, "i16": 2}


@dataclass(frozen=True, slots=True)
class Lookup:
    """`tl.load(base + index)` where the index is a 1-D tile that comes from memory."""

    call: cst.Call
    point: Point
    base: str
    dtype: str
    index: cst.BaseExpression


def table_gather(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn the look-up at the structure's line into `tl.gather` from the whole tensor, where it is small enough.

    The size comes from the host with each launch; for a larger table the kernel keeps its old form.
    """
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    for found in _lookups(body, structure.line):
        elements = _elements(subject.launch, found)
        edits = _edits(found, body, elements) if elements is not None else None
        source = file.apply(edits) if edits is not None else None
        if source is not None:
            claim = message("rewrite.table_gather_claim", table=found.base, elements=elements)
            return Rewrite(
                "table_gather", source, claim, message("rewrite.table_gather_precondition", table=found.base)
            )
    return None


def _lookups(body: KernelBody, line: int | None) -> Iterator[Lookup]:
    for point in body.at_line(line):
        for node in walk(point.statement) if not point.inline else ():
            if isinstance(node, cst.Call) and point.scope.function(node.func) == "load":
                found = _read_lookup(node, point)
                if found is not None:
                    yield found


def _read_lookup(call: cst.Call, point: Point) -> Lookup | None:
    address = argument(call, "pointer", 0)
    allowed = {"pointer", "mask", "other"}
    if address is None or any(given.keyword is not None and given.keyword.value not in allowed for given in call.args):
        return None
    match address.value:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            for table, index in ((left, right), (right, left)):
                pointer, offset = evaluate(table, point.scope), evaluate(index, point.scope)
                if _is_whole(pointer) and isinstance(pointer, Pointer) and _is_loaded_index(offset):
                    return Lookup(call, point, pointer.base, pointer.dtype, index)
    return None


def _is_whole(pointer: object) -> bool:
    return isinstance(pointer, Pointer) and not pointer.poly.terms


def _is_loaded_index(value: object) -> bool:
    return (
        isinstance(value, Opaque)
        and value.dtype in {"i32", "i64"}
        and value.shape is not None
        and len(value.shape) == 1
    )


def _elements(launch: Launch, found: Lookup) -> int | None:
    """Return the number of elements of the table, where it is contiguous and fits."""
    for tensor in launch.arguments:
        if isinstance(tensor, TensorArgument) and tensor.name == found.base and found.dtype in ITEM_BYTES:
            elements, expected = 1, 1
            for size, stride in zip(reversed(tensor.shape), reversed(tensor.strides), strict=True):
                if size != 1 and stride != expected:
                    return None
                elements, expected = elements * size, expected * size
            fits = 1 < elements <= TABLE_BYTES // ITEM_BYTES[found.dtype]
            return elements if fits else None
    return None


def _edits(found: Lookup, body: KernelBody, elements: int) -> list[Edit] | None:
    file = body.file
    size, width = file.fresh("TABLE"), file.fresh("TABLE_BLOCK")
    host = _host_edits(found, body, (size, width), elements)
    kernel = add_parameters(file, [size, width], f"{file.language}.constexpr")
    if host is None or kernel is None:
        return None
    picked = file.fresh("picked")
    lines = _lines(found, body, (size, width), picked)
    before = file.insert_before(found.point.line, found.point.statement, lines)
    return [*host, kernel, before, file.replace(found.call, picked)]


def _lines(found: Lookup, body: KernelBody, names: tuple[str, str], picked: str) -> list[str]:
    file, tl = body.file, body.file.language
    size, width = names
    lanes, table, index = file.fresh("table_lanes"), file.fresh("table"), file.text(found.index)
    mask, other = argument(found.call, "mask", 1), argument(found.call, "other", 2)
    most = TABLE_BYTES // ITEM_BYTES[found.dtype]
    inside = f"{tl}.where({file.text(mask.value)}, {index}, 0)" if mask is not None else _grouped(found.index, index)
    value = f"{tl}.gather({table}, {inside}.to({tl}.int32), 0)"
    if mask is not None:
        value = f"{tl}.where({file.text(mask.value)}, {value}, {file.text(other.value) if other is not None else '0'})"
    return [
        f"if {width} <= {most}:",
        f"    {lanes} = {tl}.arange(0, {width})",
        f"    {table} = {tl}.load({found.base} + {lanes}, mask={lanes} < {size}, other=0)",
        f"    {picked} = {value}",
        "else:",
        f"    {picked} = " + file.text(found.call).replace("\n", "\n    "),
    ]


def _grouped(node: cst.BaseExpression, text: str) -> str:
    return text if isinstance(node, (cst.Name, cst.Call, cst.Subscript)) else f"({text})"


def _host_edits(found: Lookup, body: KernelBody, names: tuple[str, str], elements: int) -> list[Edit] | None:
    """Pass the number of elements, and the power of two that holds it, at every launch."""
    file, (size, width) = body.file, names
    sites, stated = list(find_launches(file)), constant_host(file)
    if stated is not None and not sites:
        return add_constants(stated, file, {size: elements, width: 1 << (elements - 1).bit_length()})
    if not sites or not all_launches_seen(file):
        return None
    edits: list[Edit] = []
    for site in sites:
        tensor = argument_of(site, found.base, body.parameters)
        if tensor is None or not is_repeatable(tensor):
            return None
        count = f"{file.text(tensor)}.numel()"
        added = f"{size}={count}", f"{width}=triton.next_power_of_2({count})"
        edits.append(file.append_to_list(site.call.args[0], site.call.args[-1], *added))
    return edits

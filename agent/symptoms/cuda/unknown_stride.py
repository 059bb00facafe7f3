"""A stride of unknown divisibility leaves every access one element wide, though its elements are neighbours."""

from __future__ import annotations

from collections.abc import Iterable

from agent.gpu.address import constant_of
from agent.gpu.ttgir import elements_a_thread
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_multiples
from agent.symptoms.cuda.reading import (
    COALESCE,
    CUDA,
    WIDEST_BYTES,
    Access,
    accesses,
    dot_loops,
    final_flow,
    loads_of_dot,
    near_first,
    parameter,
    stages_of,
    told,
    unaligned,
    warps_of,
    weight_of,
    widest_in_ptx,
)
from agent.symptoms.structure import Flow, Producer, line_of
from indexer.ir.records import IrOp


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None:
        return []
    told_elsewhere = {id(op) for op in _pipelined_loads(subject, flow)}
    found = [a for a in accesses(subject) if id(a.op) not in told_elsewhere and is_narrow(subject, flow, a)]
    if not found:
        return []
    first = next((a for a in found if a.op.name != "tt.store"), found[0])
    weight = weight_of(subject, first.line, (a.line for a in found), 0.6)
    return [told(subject, "unknown_stride", [first.op], COALESCE, line=first.line, weight=weight)]


def _pipelined_loads(subject: Subject, flow: Flow) -> Iterable[IrOp]:
    """Yield the operands of dots whose loop should overlap them: that symptom is async_narrow."""
    for dot, loop in dot_loops(flow):
        if stages_of(subject, line_of(loop)) > 1:
            yield from loads_of_dot(flow, dot, loop)


def is_narrow(subject: Subject, flow: Flow, seen: Access) -> bool:
    """Tell whether neighbours are read one by one because a factor of the address is not known to be aligned."""
    axis = seen.address.unit_axis
    several = elements_a_thread(seen.tile, warps_of(subject)) >= 2
    if axis is None or seen.tile.shape[axis] < 2 or not several or seen.tile.element_bytes >= WIDEST_BYTES:
        return False
    # A wide access of the same values lends its layout to a narrow one, which only the lowering then narrows.
    single = seen.tile.element_bytes in {seen.width_bytes, widest_in_ptx(subject, seen.line)}
    return single and bool(loose_factors(subject, flow, seen.op))


def loose_factors(subject: Subject, flow: Flow, access: IrOp) -> list[Producer | None]:
    """Return the factors and summands of an address that nobody knows to be multiples of 16."""
    loose = unaligned(subject)
    found: list[Producer | None] = []
    for op in near_first(flow, access, 0):
        if op.name in {"arith.muli", "tt.addptr", "arith.addi"}:
            found += [made for made in flow.producers(op) if _is_loose(flow, made, loose, op.name)]
    found += [made for made in _bases(flow, access) if parameter(flow, made) in loose]
    return found


def _is_loose(flow: Flow, made: Producer | None, loose: frozenset[int], user: str) -> bool:
    while isinstance(made, IrOp) and made.name in {"tt.splat", "arith.extsi", "tt.broadcast", "tt.expand_dims"}:
        made = flow.producer(made, 0)
    if isinstance(made, IrOp):
        scalar = made.name == "tt.load" and not made.results[0].type.startswith("tensor<")
        return scalar and user == "arith.muli" and constant_of(made) is None
    number = parameter(flow, made)
    return number is not None and number in loose


def _bases(flow: Flow, access: IrOp) -> Iterable[Producer | None]:
    for made in flow.slice_back(access, 0):
        if not isinstance(made, IrOp) and made.owner is flow.function and made.value.type.startswith("!tt.ptr"):
            yield made


def loose_names(subject: Subject, structure: Structure) -> list[str]:
    """Name the integer arguments behind a narrow access on the structure's line."""
    flow = final_flow(subject)
    names = list(subject.launch.signature)
    if flow is None:
        return []
    here = [a.op for a in accesses(subject) if a.line == structure.line]
    numbers = {parameter(flow, made) for op in here for made in flow.slice_back(op, 0)}
    loose = unaligned(subject)
    return [n for i, n in enumerate(names) if i in numbers & loose and not subject.launch.signature[n].startswith("*")]


UNKNOWN_STRIDE = Symptom(
    "unknown_stride", CUDA, "ir", (COALESCE,), ("tt.load", "tt.store", "arith.muli"),
    "vector width is the minimum of pointer divisibility contiguity and 128 bits; tt.divisibility of a stride argument",
    _detect, with_multiples("unknown_stride", loose_names), area="cuda",
)  # fmt: skip

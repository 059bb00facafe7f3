"""A dot operand read along the wrong axis goes through the vector core and global memory to the cube."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import ROUND_TRIP_PASS, Product, loaded_by, products, source_of, written_by
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.static_stride import unit_stride
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped


@dataclass(frozen=True, slots=True)
class Crossing:
    """The operations by which the compiler takes a dot operand from the vector core to the cube, in order.

    On A2/A3 a store to and a load from a workspace in global memory, on 950 a copy into the cube's buffer.
    """

    product: Product
    ops: tuple[IrOp, ...]

    @property
    def made(self) -> IrOp | None:
        """Return what the vector core produced, before it was laid out for the cube."""
        made = source_of(self.product.flow, self.ops[0], 0)
        while made is not None and made.name == "hivm.hir.vtranspose" and len(self.ops) == 1:
            made = source_of(self.product.flow, made, 0)
        return made


def crossings(subject: Subject) -> Iterator[Crossing]:
    """Yield the dot operands that come from the vector core."""
    for product in products(subject, (ROUND_TRIP_PASS,)):
        for operand in (0, 1):
            ops = _inserted(product, operand)
            if ops:
                yield Crossing(product, ops)


def _inserted(product: Product, operand: int) -> tuple[IrOp, ...]:
    flow = product.flow
    read = source_of(flow, product.op, operand)
    if read is None:
        return ()
    if "inserted-load" in read.attributes:
        store = source_of(flow, read, 0)
        return (store, read) if store is not None and "inserted-store" in store.attributes else ()
    copy = written_by(flow, read, "hivm.hir.copy") if read.name == "bufferization.to_tensor" else None
    return (copy,) if copy is not None and "inserted-copy" in copy.attributes else ()


def crossing_structures(
    symptom: str, subject: Subject, cause: Callable[[Product, IrOp], IrOp | None]
) -> list[Structure]:
    """Return one structure a line for the crossings of a symptom.

    `cause` is given what the vector core produced, and returns the operation that kept it from the cube.
    """
    found: dict[int | None, Structure] = {}
    for crossing in crossings(subject):
        why = cause(crossing.product, crossing.made) if crossing.made is not None else None
        if why is not None and line_of(why) not in found:
            first = crossing.ops[0]
            marks = [name for name in first.attributes if name.startswith("inserted-")]
            made_by = origin_at(subject, crossing.product.snapshot, line_of(first), partial(_has_mark, marks[0]))
            shown = [why, *crossing.ops, crossing.product.op]
            found[line_of(why)] = structure(symptom, shown, made_by, line=line_of(why))
    return list(found.values())


def _has_mark(mark: str, op: IrOp) -> bool:
    return mark in op.attributes


def _swapped(product: Product, made: IrOp) -> IrOp | None:
    load = loaded_by(product.flow, made)
    gm = shaped(load.operands[0].type) if load is not None else None
    return load if gm is not None and gm.strides and gm.strides[-1] != 1 else None


def _detect(subject: Subject) -> list[Structure]:
    return crossing_structures("dot_swapped_ptr", subject, _swapped)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Make the last axis of the operand contiguous."""
    return unit_stride("dot_swapped_ptr", subject, structure)


DOT_SWAPPED_PTR = Symptom(
    id="dot_swapped_ptr",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(ROUND_TRIP_PASS, "insert-workspace-for-mix-cv", "hivm-cross-core-gss"),
    ops=("hivm.hir.load", "hivm.hir.store", "hivm.hir.nd2nz"),
    query="insert load store for mix cube vector operand produced by vector core workspace last stride nd2nz",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "vector", "sync"}),
)

"""A dot operand read along the wrong axis goes through the vector core and global memory to the cube."""

from __future__ import annotations

from collections.abc import Callable

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import ROUND_TRIP_PASS, Product, loaded_by, products, source_of
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.static_stride import unit_stride
from agent.symptoms.structure import line_of, shaped
from indexer.ir.records import IrOp


def detours(subject: Subject, symptom: str, belongs: Callable[[Product, IrOp], list[IrOp]]) -> list[Structure]:
    """Return one structure a line for dot operands that reach the cube by a store and a load of the compiler's own.

    `belongs` is given the product and what the vector core produced; it returns the operations that show why.
    """
    found: dict[int | None, Structure] = {}
    for product in products(subject, (ROUND_TRIP_PASS,)):
        for operand in (0, 1):
            shown = _detour(product, operand, belongs)
            line = line_of(shown[0]) if shown else None
            if shown and line not in found:
                made_by = origin_at(subject, product.snapshot, line, lambda op: "inserted-store" in op.attributes)
                found[line] = structure(symptom, shown, made_by, line=line)
    return list(found.values())


def _detour(product: Product, operand: int, belongs: Callable[[Product, IrOp], list[IrOp]]) -> list[IrOp]:
    flow = product.flow
    load = source_of(flow, product.op, operand)
    if load is None or "inserted-load" not in load.attributes:
        return []
    store = source_of(flow, load, 0)
    made = source_of(flow, store, 0) if store is not None and "inserted-store" in store.attributes else None
    why = belongs(product, made) if made is not None else []
    return [*why, store, load, product.op] if why and store is not None else []


def _swapped(product: Product, made: IrOp) -> list[IrOp]:
    load = loaded_by(product.flow, made)
    gm = shaped(load.operands[0].type) if load is not None else None
    return [load] if load is not None and gm is not None and gm.strides and gm.strides[-1] != 1 else []


def _detect(subject: Subject) -> list[Structure]:
    return detours(subject, "dot_swapped_ptr", _swapped)


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
)

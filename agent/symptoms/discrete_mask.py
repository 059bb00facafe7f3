"""A store whose mask is no rectangle reads the whole tile, selects, and writes it back."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call, without
from agent.symptoms.origin import Origin, structure
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp

CONVERSION = "discrete-mask-access-conversion"


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for snapshot in subject.compilation.snapshots:
        if snapshot.pass_argument == CONVERSION:
            for flow in flows(snapshot):
                for store in (op for op in flow.ops if op.name == "tt.store"):
                    shown = _read_back(flow, store)
                    if shown and line_of(store) not in found:
                        found[line_of(store)] = structure(
                            "discrete_mask", [*shown, store], Origin(CONVERSION, snapshot.position), "adapter",
                            line=line_of(store), weight=0.7,
                        )  # fmt: skip
    return list(found.values())


def _read_back(flow: Flow, store: IrOp) -> list[IrOp]:
    """Return the mask, the load of the store's own target and the selection between it and the new value."""
    chosen = flow.producer(store, 1)
    if not isinstance(chosen, IrOp) or chosen.name != "arith.select":
        return []
    for old in flow.producers(chosen)[1:]:
        if isinstance(old, IrOp) and old.name == "tt.load" and flow.producer(old, 0) is flow.producer(store, 0):
            mask = flow.producer(chosen, 0)
            return [*([mask] if isinstance(mask, IrOp) else []), old, chosen]
    return []


def _unmasked(_code: Code, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Call) or not is_call(node, "store"):
        return None
    new = without(node, "mask")
    new.args = new.args[:2]
    return new


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Store without the mask."""
    return edit_line("discrete_mask", subject, structure, _unmasked)


DISCRETE_MASK = Symptom(
    id="discrete_mask",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(CONVERSION,),
    ops=("tt.store", "arith.select", "tt.load"),
    query="discrete mask access conversion store mask analysis fails load select store read modify write whole tile",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "sync"}),
    is_moved=True,
)

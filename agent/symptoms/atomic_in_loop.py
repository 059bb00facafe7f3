"""An atomic update of global memory in every iteration."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.extracted import MARK
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp

_ATOMICS = ("atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor")


def _is_atomic(op: IrOp) -> bool:
    kind = op.attributes.get("atomic_kind", "")
    return op.name == "hivm.hir.store" and bool(kind) and "none" not in kind


def _is_in_loop(flow: Flow, op: IrOp) -> bool:
    return bool(flow.loops(op)) and not any(MARK in p.attributes for p in flow.parents(op))


def _detect(subject: Subject) -> list[Structure]:
    final = subject.compilation.hivm
    found: dict[int | None, Structure] = {}
    for flow in flows(final) if final is not None else ():
        for op in flow.ops:
            line = line_of(op)
            if final is not None and line not in found and _is_atomic(op) and _is_in_loop(flow, op):
                made_by = origin_at(subject, final, line, _is_atomic, in_loop=True)
                found[line] = structure("atomic_in_loop", [flow.loops(op)[-1], op], made_by, line=line, weight=0.8)
    return list(found.values())


def _plain(_code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and is_call(node, *_ATOMICS) and len(node.args) > 1:
        rest = [*node.args[2:], *(k.value for k in node.keywords if k.arg == "mask")]
        return f"tl.store({', '.join(ast.unparse(a) for a in [*node.args[:2], *rest])})"
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Store instead of updating; stays open where the old value is used."""
    return edit_line("atomic_in_loop", subject, structure, _plain)


ATOMIC_IN_LOOP = Symptom(
    id="atomic_in_loop",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=("hivm-decompose-op",),
    ops=("hivm.hir.store", "hivm.hir.atomic_rmw"),
    query="atomic store hardware atomic kind add max min decompose atomic in loop iteration not combined "
    "isHWAtomic isSWAtomic",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "sync"}),
)

"""An atomic operation without hardware support takes a lock that all cores share."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import flows, line_of
from indexer.ir.records import IrOp

_LOCK = "hivm.hir.sync_block_lock"
_NATIVE = {"atomic_or": "atomic_max", "atomic_and": "atomic_min", "atomic_xor": "atomic_add"}


def _detect(subject: Subject) -> list[Structure]:
    final = subject.compilation.hivm
    found: dict[int | None, Structure] = {}
    for flow in flows(final) if final is not None else ():
        for op in flow.ops:
            line = line_of(op)
            if final is not None and _locks(op) and line not in found:
                held = [o for o in flow.ops if line_of(o) == line and o.name in {"hivm.hir.load", "hivm.hir.store"}]
                found[line] = structure("atomic_lock", [op, *held], origin_at(subject, final, line, _locks), line=line)
    return list(found.values())


def _locks(op: IrOp) -> bool:
    return op.name == _LOCK


def _native(_code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and is_call(node, *_NATIVE) and isinstance(node.func, ast.Attribute):
        rest = [ast.unparse(a) for a in node.args] + [ast.unparse(k) for k in node.keywords]
        return f"{ast.unparse(node.func.value)}.{_NATIVE[node.func.attr]}({', '.join(rest)})"
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Use an operation that the hardware has; no edit where the old value is what needs the lock."""
    return edit_line("atomic_lock", subject, structure, _native)


ATOMIC_LOCK = Symptom(
    id="atomic_lock",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=("hivm-decompose-op",),
    ops=("hivm.hir.sync_block_lock", "hivm.hir.atomic_rmw"),
    query="atomic store hardware atomic add max min only and or xor software sync block lock decompose "
    "isHWAtomic isSWAtomic",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "sync"}),
)

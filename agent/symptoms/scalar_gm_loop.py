"""A scalar load inside a loop reads global memory one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.access import LOAD, is_users
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call
from agent.symptoms.extracted import MARK
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped

_BLOCK_READS = frozenset({LOAD, "hivm.hir.nd2nz"})


def _detect(subject: Subject) -> list[Structure]:
    final = subject.compilation.hivm
    found: dict[int | None, Structure] = {}
    for flow in flows(final) if final is not None else ():
        for op in flow.ops:
            line = line_of(op)
            if line not in found and final is not None and _reads_one(flow, op):
                made_by = origin_at(subject, final, line, lambda op: op.name == "memref.load")
                found[line] = structure(
                    "scalar_gm_loop", [flow.loops(op)[-1], op], made_by, line=line, weight=_weight(flow, op)
                )
    return list(found.values())


def _reads_one(flow: Flow, op: IrOp) -> bool:
    if op.name != "memref.load" or not flow.loops(op) or any(MARK in p.attributes for p in flow.parents(op)):
        return False
    kind = shaped(op.operands[0].type)
    return kind is not None and kind.space == "gm" and is_users(flow, op, 0)


def _weight(flow: Flow, op: IrOp) -> float:
    """Rate a scalar beside block reads low: there it is an index or a bound, one a block."""
    loop = flow.loops(op)[-1]
    return 0.2 if any(inner.name in _BLOCK_READS for inner in loop.walk()) else 1.0


def _blocked(_code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and is_call(node, "load") and len(node.args) == 1 and not node.keywords:
        return f"tl.sum({ast.unparse(node.func)}({ast.unparse(node.args[0])} + tl.arange(0, 64)), 0)"
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Read a block at the same place, and sum it to a scalar."""
    return edit_line("scalar_gm_loop", subject, structure, _blocked)


SCALAR_GM_LOOP = Symptom(
    id="scalar_gm_loop",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=("triton-to-linalg",),
    ops=("memref.load", "scf.for"),
    query="load converter result not shaped scalar load memref.load scalar pointer tt.load lowered to memref load",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"scalar"}),
)

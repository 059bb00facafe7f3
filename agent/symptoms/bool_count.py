"""A sum of integers along the last axis uses a tree with an extra buffer instead of the reduce instruction."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, edit_line, is_call, with_first_cast
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import flows, line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped

_SCRATCH = 3  # operands of a reduction that has an extra buffer


def _detect(subject: Subject) -> list[Structure]:
    final = subject.compilation.hivm
    found: dict[int | None, Structure] = {}
    for flow in flows(final) if final is not None else ():
        for op in flow.ops:
            if final is not None and _is_tree(op) and line_of(op) not in found:
                made_by = origin_at(subject, final, line_of(op), _has_scratch)
                found[line_of(op)] = structure("bool_count", [op], made_by, weight=0.5)
    return list(found.values())


def _has_scratch(op: IrOp) -> bool:
    return op.name == "hivm.hir.vreduce" and len(op.operands) >= _SCRATCH


def _is_tree(op: IrOp) -> bool:
    kind = shaped(op.operands[0].type) if _has_scratch(op) else None
    if kind is None or not kind.is_integer or "sum" not in op.attributes.get("arith", ""):
        return False
    dims = op.attributes.get("reduce_dims", "").partition(":")[2].rstrip("> ")
    return str(len(kind.shape) - 1) in [d.strip() for d in dims.split(",")]


def _in_float(_code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and is_call(node, "sum") and node.args:
        return with_first_cast(node, "float32")
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Sum in float32."""
    return edit_line("bool_count", subject, structure, _in_float)


BOOL_COUNT = Symptom(
    id="bool_count",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=("hivm-alloc-extra-buffer", "convert-hivm-to-std"),
    ops=("hivm.hir.vreduce",),
    query="VReduceOp extra buffer integer sum last axis tree temp buffer cross-lane reduce instruction f16 f32 only",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

"""A masked load fills its buffer before it reads, and waits for the fill in every iteration."""

from __future__ import annotations

import ast
from collections.abc import Callable

from agent.records import Structure
from agent.symptoms.access import LOAD
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import VECTOR_FUNCTION
from agent.symptoms.edits import Code, edit_line, is_call, without
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import Flow, flows, line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped

DECOMPOSE = "hivm-aggregated-decompose-op"
FILL = "hivm.hir.vbrc"
_UNLIKELY = "hivm.unlikely_condition"


def fills(
    symptom: str, subject: Subject, read: str, space: str, weight: Callable[[Flow, IrOp], float]
) -> list[Structure]:
    """Return one structure a line for reads in a loop whose own buffer is first filled with a scalar.

    `read` is the operation that reads, `space` the on-chip memory; `weight` rates one fill.
    """
    final = subject.compilation.hivm
    found: dict[int | None, Structure] = {}
    for flow in flows(final) if final is not None else ():
        for load in (op for op in flow.ops if op.name == read and flow.loops(op)):
            fill = _fill_of(flow, load, space)
            line = line_of(load)
            if fill is not None and final is not None and line not in found:
                guard = [p for p in flow.parents(fill) if _UNLIKELY in p.attributes]
                waits = [
                    op for op in flow.ops if op.name == "hivm.hir.wait_flag" and line_of(op) == line and _orders(op)
                ]
                made_by = origin_at(subject, final, line, _is_fill)
                found[line] = structure(
                    symptom, [*guard[-1:], fill, *waits[:1], load], made_by, line=line, weight=weight(flow, fill)
                )  # fmt: skip
    return list(found.values())


def _fill_of(flow: Flow, load: IrOp, space: str) -> IrOp | None:
    """Return what fills the load's own buffer: a broadcast, on 950 a call of a vector function that only writes it."""
    buffer = flow.storage(load, 1)
    for op in flow.ops:
        at = _filled_operand(op)
        target = shaped(op.operands[at].type) if at is not None else None
        same_line = target is not None and target.space == space and line_of(op) == line_of(load)
        if at is not None and same_line and flow.storage(op, at) is buffer:
            return op
    return None


def _filled_operand(op: IrOp) -> int | None:
    if op.name == FILL and len(op.operands) > 1 and shaped(op.operands[0].type) is None:
        return 1
    return 0 if VECTOR_FUNCTION in op.attributes and len(op.operands) == 1 else None


def _is_fill(op: IrOp) -> bool:
    return op.name in {FILL, "linalg.fill"} or VECTOR_FUNCTION in op.attributes


def _orders(wait: IrOp) -> bool:
    return "PIPE_V>" in wait.attributes.get("set_pipe", "") and "PIPE_MTE2>" in wait.attributes.get("wait_pipe", "")


def _weight(flow: Flow, fill: IrOp) -> float:
    # Behind the tail test the fill itself is rare; the order of the two pipes remains.
    return 0.15 if any(_UNLIKELY in p.attributes for p in flow.parents(fill)) else 0.4


def _detect(subject: Subject) -> list[Structure]:
    return fills("mask_fill", subject, LOAD, "ub", _weight)


def unmasked_load(_code: Code, node: ast.expr) -> ast.expr | None:
    """Return a masked load without its mask and pad value."""
    if not isinstance(node, ast.Call) or not is_call(node, "load"):
        return None
    new = without(node, "mask", "other", "boundary_check", "padding_option")
    new.args = new.args[:1]
    return new if len(new.args) + len(new.keywords) < len(node.args) + len(node.keywords) else None


def _unfilled(_code: Code, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Call) or not is_call(node, "load"):
        return None
    new = without(node, "other", "care_padding")
    new.args = new.args[:2]
    new.keywords.append(ast.keyword("care_padding", ast.Constant(value=False)))
    return new


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Do not care what the lanes past the bound hold."""
    return edit_line("mask_fill", subject, structure, _unfilled)


MASK_FILL = Symptom(
    id="mask_fill",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(DECOMPOSE, "convert-to-hivm-op", "hivm-graph-sync-solver"),
    ops=("hivm.hir.vbrc", "hivm.hir.load"),
    query="init out buffer pad value masked load decompose to vbrc and load unlikely condition initialise buffer",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "vector", "sync"}),
)

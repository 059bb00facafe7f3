"""A tensor carried by a loop is copied in every iteration, because its old value is still read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import Argument, Flow, flows, line_of
from indexer.ir.records import IrOp
from indexer.ir.types import shaped

_COPY = "hivm.hir.copy"


def _detect(subject: Subject) -> list[Structure]:
    final = subject.compilation.hivm
    found: dict[int | None, Structure] = {}
    for flow in flows(final) if final is not None else ():
        for op in flow.ops:
            if final is not None and _carries(flow, op) and line_of(op) not in found:
                made_by = origin_at(subject, final, line_of(op), lambda o: o.name == _COPY, in_loop=True)
                shown = [op, *_ends(flow, op)]
                found[line_of(op)] = structure("carried_copy", shown, made_by, line=line_of(op), weight=0.6)
    return list(found.values())


def _carries(flow: Flow, op: IrOp) -> bool:
    """Tell whether a copy on chip, in a loop, ends in a buffer from before the loop."""
    loops = flow.loops(op)
    if op.name != _COPY or not loops or flow.slots(op, 1) > 1:
        return False
    kinds = [shaped(v.type) for v in op.operands[:2]]
    target = flow.storage(op, 1)
    outside = isinstance(target, Argument) or (target is not None and loops[-1] not in flow.parents(target))
    return outside and all(k is not None and k.space == "ub" for k in kinds)


def _ends(flow: Flow, op: IrOp) -> list[IrOp]:
    return [o for o in flow.ops if o.name == "scf.yield" and flow.parents(o)[-1] is flow.loops(op)[-1]]


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Read the new value where the old one is read after it is there; None where the loop keeps none under a name."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    reads = [pair for loop in code.around(ast.For)[-1:] for pair in _late_reads(loop)]
    edit = code.replace(reads)
    return edit.variant("carried_copy", structure.line) if edit else None


def _late_reads(loop: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    """Yield the reads of a carried value, `old` of `old = new`, below the line that makes the new one."""
    nodes = list(ast.walk(loop))
    for move in nodes:
        if not isinstance(move, ast.Assign) or not isinstance(move.value, ast.Name):
            continue
        old, new = {t.id for t in move.targets if isinstance(t, ast.Name)}, move.value.id
        made = [n.lineno for n in nodes if isinstance(n, ast.Name) and n.id == new and isinstance(n.ctx, ast.Store)]
        for node in nodes:
            late = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in old
            if late and made and isinstance(node, ast.Name) and node.lineno > min(made):
                yield node, new


CARRIED_COPY = Symptom(
    id="carried_copy",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=("hivm-plan-memory",),
    ops=("hivm.hir.copy", "scf.yield"),
    query="normalize loop iterator use after yield init copy iter arg plan memory inplace loop carried buffer",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"vector"}),
)

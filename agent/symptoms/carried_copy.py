"""A tensor carried by a loop is copied in every iteration, because its old value is still read."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.origin import origin_at, structure
from agent.symptoms.structure import Argument, Flow, flows, line_of, shaped
from indexer.ir.records import IrOp

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


def _counterfactual(_subject: Subject, _structure: Structure) -> Variant | None:
    """None: which value is read last is the algorithm's order, which no small edit turns around."""
    return None


CARRIED_COPY = Symptom(
    id="carried_copy",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=("hivm-plan-memory",),
    ops=("hivm.hir.copy", "scf.yield"),
    query="normalize loop iterator use after yield init copy iter arg plan memory inplace loop carried buffer",
    detect=_detect,
    counterfactual=_counterfactual,
)

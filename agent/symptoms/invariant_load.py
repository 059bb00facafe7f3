"""A load of the same data in every iteration: no pass moves it out of the loop."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.access import Transfer, transfers
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code
from agent.symptoms.extracted import MARK
from agent.symptoms.origin import Origin, structure
from agent.symptoms.structure import Argument, line_of


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for transfer in transfers(subject):
        if transfer.is_load and _is_invariant(transfer) and line_of(transfer.op) not in found:
            shown = [transfer.flow.loops(transfer.op)[-1], transfer.op]
            # The source asks for it; no pass makes it.
            found[line_of(transfer.op)] = structure(
                "invariant_load", shown, Origin(None, None), line=line_of(transfer.op), weight=0.8
            )
    return list(found.values())


def _is_invariant(transfer: Transfer) -> bool:
    """Tell whether the address is the same in all rounds of the loop around it, a loop of the user's own."""
    flow, op = transfer.flow, transfer.op
    loops = flow.loops(op)
    if not loops or loops[-1].name != "scf.for" or line_of(loops[-1]) in {None, line_of(op)}:
        return False
    if any(MARK in p.attributes for p in flow.parents(op)):
        return False
    inputs = [i for i in range(len(op.operands)) if i != 1]
    sources = (made for i in inputs for made in flow.slice_back(op, i))
    return not any(isinstance(made, Argument) and made.owner is loops[-1] for made in sources)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Move the statement in front of the loop."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    loops, here = code.around(ast.For), code.here()
    if not loops or not here or not isinstance(here[0], ast.Assign):
        return None
    return code.hoist(here[0], loops[-1]).variant("invariant_load", structure.line)


INVARIANT_LOAD = Symptom(
    id="invariant_load",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(),
    ops=("hivm.hir.load", "scf.for"),
    query="loop invariant code motion pure operations only load writes destination buffer not hoisted pipeline "
    "createLoopInvariantCodeMotionPass",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"load"}),
)

"""Loads in a while loop are not double buffered."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.access import transfers
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code
from agent.symptoms.origin import ran_without_effect, structure
from agent.symptoms.single_shot import MARK_MULTI_BUFFER
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp

_ROUNDS = 8


def _detect(subject: Subject) -> list[Structure]:
    found: dict[int | None, Structure] = {}
    for transfer in transfers(subject):
        loops = transfer.flow.loops(transfer.op)
        line = line_of(transfer.op)
        if transfer.is_load and loops and loops[-1].name == "scf.while" and transfer.flow.slots(transfer.op, 1) < 2:
            made_by = ran_without_effect(subject, MARK_MULTI_BUFFER)
            buffer = transfer.flow.storage(transfer.op, 1)
            shown = [transfer.op, loops[-1], *([buffer] if isinstance(buffer, IrOp) else [])]
            found.setdefault(line, structure("while_loop", shown, made_by, line=line, weight=0.5))
    return list(found.values())


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Make the loop one with a known number of rounds."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    loops = code.around(ast.While)
    return (
        code.replace_header(loops[-1], f"for _round in range(0, {_ROUNDS}):").variant("while_loop", structure.line)
        if loops
        else None
    )


WHILE_LOOP = Symptom(
    id="while_loop",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(MARK_MULTI_BUFFER,),
    ops=("scf.while", "hivm.hir.load"),
    query="mark multi buffer only scf.for ancestor accepted while loop not double buffered",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"load", "store", "sync"}),
)

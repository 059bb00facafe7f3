"""A program moves its data in one go: nothing overlaps, no buffer can be doubled."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.access import Transfer, transfers
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code
from agent.symptoms.origin import ran_without_effect, structure
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp

MARK_MULTI_BUFFER = "hivm-mark-multi-buffer"
# Parts of less than half of this are not worth a transfer of their own: a transfer's fixed cost is 0.14 us, which at
# 60 GB/s a core is 8 KiB (the constants of the predicted cost).
_LEAST_BYTES = 16 * 1024
# From here on, load and compute can hide each other nearly whole.
_FULL_BYTES = 128 * 1024


def _detect(subject: Subject) -> list[Structure]:
    moved = list(transfers(subject))
    loads, stores = [t for t in moved if t.is_load], [t for t in moved if not t.is_load]
    if not loads or not stores or any(t.flow.loops(t.op) for t in moved) or _is_part_of_mix(loads[0]):
        return []
    load_bytes = sum(t.gm.bytes for t in loads)
    if load_bytes < _LEAST_BYTES:
        return []
    largest = max(loads, key=lambda t: t.gm.bytes)
    shown = [largest.op, *_waits(largest), stores[-1].op]
    weight = 0.5 * min(1.0, load_bytes / _FULL_BYTES)
    return [
        structure(
            "single_shot",
            shown,
            ran_without_effect(subject, MARK_MULTI_BUFFER),
            line=line_of(largest.op),
            weight=weight,
        )
    ]


def _is_part_of_mix(transfer: Transfer) -> bool:
    return "hivm.part_of_mix" in transfer.flow.function.attributes


def _waits(transfer: Transfer) -> list[IrOp]:
    return [op for op in transfer.flow.ops if op.name == "hivm.hir.wait_flag"][:2]


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Put the whole body in a loop of two rounds: its buffers can then be doubled."""
    code = Code(subject.source, structure.line or 0, subject.launch)
    return code.wrap_body("for _round in range(0, 2):").variant("single_shot", structure.line)


SINGLE_SHOT = Symptom(
    id="single_shot",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(MARK_MULTI_BUFFER,),
    ops=("hivm.hir.load", "hivm.hir.store"),
    query="mark multi buffer requires enclosing loop scf.for ancestor buffer without loop cannot be multi-buffered",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "sync"}),
    is_moved=True,
)

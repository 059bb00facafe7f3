"""Counterfactuals: change one thing, lower again, and see whether the structure goes."""

from __future__ import annotations

from collections.abc import Callable

from agent.records import Counterfactual, Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.origin import excerpt
from agent.symptoms.structure import device_functions, line_of
from indexer.ir.records import IrOp
from indexer.messages import message

# Address arithmetic and views say nothing about what became of a line, unless there is nothing else.
_TELLING = ("hivm.hir.", "scf.", "func.call", "memref.load", "memref.store")
_QUIET = (
    "hivm.hir.set_flag",
    "hivm.hir.wait_flag",
    "hivm.hir.pointer_cast",
    "hivm.hir.get_block_idx",
    "hivm.hir.pipe_barrier",
    "scf.yield",
)


def judge(
    subject: Subject, structure: Structure, symptom: Symptom, lower: Callable[[Variant], Subject | None]
) -> Counterfactual:
    """Lower the symptom's variant and detect again: gone from the line confirms, still there refutes.

    Open when there is no variant, when it cannot be captured (`lower` gives None), or when the compiler rejects it.
    """
    variant = symptom.counterfactual(subject, structure)
    if variant is None:
        return Counterfactual(message("counterfactual.no_edit"), "open", structure.excerpt)
    after = lower(variant)
    if after is None:
        return Counterfactual(message("counterfactual.not_captured", change=variant.change), "open", structure.excerpt)
    if after.compilation.status == "rejected" and not _still_there(after, structure, symptom):
        told = next((d.message for d in after.compilation.diagnostics if d.severity == "error"), "")
        note = message("counterfactual.rejected", change=variant.change, reason=told)
        return Counterfactual(note, "open", structure.excerpt)
    lines = _same_lines(structure.line, subject.source, after.source)
    left = [s for s in symptom.detect(after) if structure.line is None or s.line in lines]
    if left:
        return Counterfactual(variant.change, "refuted", structure.excerpt, left[0].excerpt)
    return Counterfactual(variant.change, "confirmed", structure.excerpt, line_excerpt(after, lines))


def _still_there(after: Subject, structure: Structure, symptom: Symptom) -> bool:
    """Tell whether a rejected kernel is rejected for the structure itself."""
    return any(s.symptom == structure.symptom for s in symptom.detect(after))


def _same_lines(line: int | None, before: str, after: str) -> frozenset[int | None]:
    """Return where a line of the old source can be in the new one: an edit adds its lines above, or none."""
    shift = after.count("\n") - before.count("\n")
    return frozenset({line, None if line is None else line + shift})


def line_excerpt(after: Subject, lines: frozenset[int | None]) -> str:
    """Print what is on the line in the last module now."""
    final = after.compilation.hivm
    ops = [op for f in device_functions(final) for op in f.walk() if line_of(op) in lines] if final is not None else []
    telling = [op for op in ops if _is_telling(op)]
    return excerpt(telling or ops)


def _is_telling(op: IrOp) -> bool:
    return op.name.startswith(_TELLING) and not op.name.startswith(_QUIET)

"""Operations without an instruction of their own, which normalisation expands into several."""

from __future__ import annotations

from collections.abc import Callable

from agent.records import Structure
from agent.symptoms.base import Subject
from agent.symptoms.origin import Origin, structure
from agent.symptoms.replaced import Replacement, replacements
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp

NORMALIZE = "hfusion-normalize-ops"


def function_of(op: IrOp) -> str:
    """Return the function of an element-wise operation: `maxnumf` of `fun = #hfusion.binary_fn<maxnumf>`."""
    return op.attributes.get("fun", "").partition("<")[2].rstrip(">")


def made_element_wise(item: Replacement) -> list[IrOp]:
    """Return the element-wise operations that the pass put in the place of one."""
    return [
        op for op in item.made if op.name.startswith(("hfusion.", "linalg.elemwise")) and op.name != "hfusion.bitcast"
    ]


def expanded_structures(
    symptom: str, subject: Subject, was: Callable[[IrOp], bool], *, least: int, weight: float
) -> list[Structure]:
    """Return one structure a line for the operations that normalisation made at least `least` operations of."""
    found: dict[int | None, Structure] = {}
    for item in replacements(subject, NORMALIZE, was):
        made = made_element_wise(item)
        line = line_of(item.op)
        if len(made) >= least and line not in found:
            made_by = Origin(NORMALIZE, item.snapshot.position)
            found[line] = structure(symptom, [item.op, *made], made_by, "hfusion", line=line, weight=weight)
    return list(found.values())

"""Vector operations that the compiler turns into a loop over single elements."""

from __future__ import annotations

from collections.abc import Callable

from agent.records import Structure
from agent.symptoms.base import Subject
from agent.symptoms.origin import Origin, structure
from agent.symptoms.replaced import Replacement, replacements
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp
from indexer.ir.types import Shaped, shaped

# The pass that asks every HIVM operation whether it must be scalar (AscendNPU-IR@8796a8ac1508:
# bishengir/lib/Dialect/HIVM/Transforms/HIVMLowerToLoops.cpp, rules in HIVM/IR/ImplByScalarOpInterface).
LOWER_TO_LOOPS = "hivm-lower-to-loops"
_EXCERPT_OPS = 5


def types_of(op: IrOp) -> tuple[Shaped, ...]:
    """Return the types of the shaped operands."""
    return tuple(t for t in (shaped(v.type) for v in op.operands) if t is not None)


def is_vector_op(op: IrOp, *names: str) -> bool:
    """Tell whether an operation is one of the named HIVM operations."""
    return op.name.startswith("hivm.hir.") and op.name.removeprefix("hivm.hir.") in names


def scalar_structures(symptom: str, subject: Subject, was: Callable[[IrOp], bool]) -> list[Structure]:
    """Return one structure a line for the operations satisfying `was` that became loops over elements."""
    found: dict[int | None, Structure] = {}
    for item in replacements(subject, LOWER_TO_LOOPS, was):
        line = line_of(item.op)
        if line not in found:
            made_by = Origin(LOWER_TO_LOOPS, item.snapshot.position)
            found[line] = structure(symptom, [item.op, *_loop(item)], made_by, line=line)
    return list(found.values())


def _loop(item: Replacement) -> list[IrOp]:
    """Return the first operations of the loop that stands for the operation now."""
    start = next((i for i, op in enumerate(item.made) if op.name == "scf.for"), 0)
    return list(item.made[start : start + _EXCERPT_OPS])

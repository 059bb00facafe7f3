"""Vector operations that the compiler turns into a loop over single elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.records import Structure
from agent.symptoms.base import Subject
from agent.symptoms.origin import Origin, structure
from agent.symptoms.structure import Shaped, device_functions, shaped
from indexer.ir.records import IrOp, Place, Snapshot

# The pass that asks every HIVM operation whether it must be scalar (AscendNPU-IR@8796a8ac1508:
# bishengir/lib/Dialect/HIVM/Transforms/HIVMLowerToLoops.cpp, rules in HIVM/IR/ImplByScalarOpInterface).
LOWER_TO_LOOPS = "hivm-lower-to-loops"


@dataclass(frozen=True, slots=True)
class Scalarised:
    """A vector operation as it was before the pass, and the loop nest that stands for it after."""

    op: IrOp
    loop: IrOp | None
    snapshot: Snapshot

    @property
    def name(self) -> str:
        """Return the operation's name without its dialect."""
        return self.op.name.removeprefix("hivm.hir.")

    @property
    def operand_types(self) -> tuple[Shaped, ...]:
        """Return the types of the shaped operands."""
        return tuple(t for t in (shaped(v.type) for v in self.op.operands) if t is not None)


def scalarised(subject: Subject) -> Iterator[Scalarised]:
    """Compare the module before and after the pass: what went is what became a loop."""
    snapshots = subject.compilation.snapshots
    for before, after in zip(snapshots, snapshots[1:], strict=False):
        if after.pass_argument == LOWER_TO_LOOPS:
            known = {f.symbol: f for f in device_functions(before)}
            for function in device_functions(after):
                old = known.get(function.symbol)
                if old is not None and old is not function:
                    yield from _replaced(old, function, after)


def _replaced(old: IrOp, new: IrOp, after: Snapshot) -> Iterator[Scalarised]:
    left = Counter(_key(op) for op in new.walk() if op.name.startswith("hivm.hir."))
    old_loops = Counter(op.place for op in old.walk() if op.name == "scf.for")
    loops: dict[Place | None, list[IrOp]] = {}
    for op in _outermost_loops(new):
        if old_loops[op.place] > 0:
            old_loops[op.place] -= 1
        else:
            loops.setdefault(op.place, []).append(op)
    for op in old.walk():
        if op.name.startswith("hivm.hir."):
            if left[_key(op)] > 0:
                left[_key(op)] -= 1
            else:
                own = loops.get(op.place, [])
                yield Scalarised(op, own.pop(0) if own else None, after)


def _key(op: IrOp) -> tuple[str, Place | None, tuple[str, ...]]:
    return op.name, op.place, tuple(v.type for v in op.operands)


def _outermost_loops(function: IrOp) -> Iterator[IrOp]:
    """Yield the loops; of a nest at one place only the outermost."""
    for op, parents in function.walk_with_parents():
        if op.name == "scf.for" and not any(p.name == "scf.for" and p.place == op.place for p in parents):
            yield op


def scalar_structures(symptom: str, subject: Subject, belongs: Callable[[Scalarised], bool]) -> list[Structure]:
    """Return one structure a line for the scalarised operations that belong to a symptom."""
    found: dict[int | None, Structure] = {}
    for item in scalarised(subject):
        line = item.op.place.line if item.op.place is not None else None
        if belongs(item) and line not in found:
            ops = [item.op, *(list(item.loop.walk())[:5] if item.loop is not None else ())]
            made_by = Origin(LOWER_TO_LOOPS, item.snapshot.position)
            found[line] = structure(symptom, ops, made_by, line=line)
    return list(found.values())

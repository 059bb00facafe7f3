"""What one pass took out of the module and what it put in its place: the IR before and after it, compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from agent.symptoms.base import Subject
from agent.symptoms.structure import device_functions
from indexer.ir.records import IrOp, Place, Snapshot


@dataclass(frozen=True, slots=True)
class Replacement:
    """An operation that a pass removed, and the operations that it added at the same place of the source."""

    op: IrOp
    made: tuple[IrOp, ...]
    snapshot: Snapshot
    before: Snapshot


def replacements(subject: Subject, pass_argument: str, was: Callable[[IrOp], bool]) -> Iterator[Replacement]:
    """Yield what each run of a pass did to the operations that satisfy `was`."""
    for before, after in pairwise(subject.compilation.snapshots):
        if after.pass_argument == pass_argument:
            known = {f.symbol: f for f in device_functions(before)}
            for function in device_functions(after):
                old = known.get(function.symbol)
                if old is not None and old is not function:
                    for op, made in _removed(old, function, was):
                        yield Replacement(op, made, after, before)


def _removed(old: IrOp, new: IrOp, was: Callable[[IrOp], bool]) -> Iterator[tuple[IrOp, tuple[IrOp, ...]]]:
    left = Counter(_key(op) for op in new.walk())
    gone: list[IrOp] = []
    for op in old.walk():
        if left[_key(op)] > 0:
            left[_key(op)] -= 1
        elif was(op):
            gone.append(op)
    added: dict[Place | None, list[IrOp]] = {}
    before = Counter(_key(op) for op in old.walk()) if gone else Counter()
    for op in new.walk() if gone else ():
        if before[_key(op)] > 0:
            before[_key(op)] -= 1
        else:
            added.setdefault(op.place, []).append(op)
    for op in gone:
        yield op, tuple(added.get(op.place, ()))


def _key(op: IrOp) -> tuple[str, Place | None, tuple[str, ...], tuple[str, ...], str | None]:
    operands, results = tuple(v.type for v in op.operands), tuple(v.type for v in op.results)
    return op.name, op.place, operands, results, op.attributes.get("fun")

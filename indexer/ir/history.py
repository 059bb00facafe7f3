"""One user line through the pipeline: what each pass took from it and put in its place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from indexer.ir.blame import LineFinder
from indexer.ir.records import IrOp, Snapshot

_NAME = re.compile(r"%[\w$.#-]+")
_CONTEXT = 1


@dataclass(frozen=True, slots=True)
class LineStep:
    """What one pass did to the operations of a line.

    `made` and `replaced` name the operations that became more and fewer there, most first. `diff` are the operations as
    they are printed, each after `+`, `-` or a space; names of values, which each dump counts anew, make no difference.
    """

    pass_argument: str
    position: int
    compiler: str
    made: tuple[str, ...]
    replaced: tuple[str, ...]
    diff: tuple[str, ...]


def follow_line(snapshots: Sequence[Snapshot], line: int) -> tuple[LineStep, ...]:
    """Return the passes that changed what belongs to `line`, in order; the first step is the line in the source IR."""
    finder = LineFinder()
    steps: list[LineStep] = []
    before: list[IrOp] = []
    for snapshot in snapshots:
        after = [op for op, at in finder.lines(snapshot.functions) if at == line]
        diff = tuple(_diff([op.text for op in before], [op.text for op in after]))
        if diff:
            grown = Counter(op.name for op in after)
            grown.subtract(op.name for op in before)
            made, replaced = _most(grown, 1), _most(grown, -1)
            steps.append(LineStep(snapshot.pass_argument, snapshot.position, snapshot.compiler, made, replaced, diff))
        before = after
    return tuple(steps)


def _most(grown: Counter[str], sign: int) -> tuple[str, ...]:
    changed = [(sign * count, name) for name, count in grown.items() if sign * count > 0]
    return tuple(name for _, name in sorted(changed, key=lambda item: (-item[0], item[1])))


def _diff(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    old, new = ([_NAME.sub("%", text) for text in side] for side in (before, after))
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        for kind, start, stop, new_start, new_stop in group:
            if kind == "equal":
                yield from (f"  {text}" for text in after[new_start:new_stop])
            else:
                yield from (f"- {text}" for text in before[start:stop])
                yield from (f"+ {text}" for text in after[new_start:new_stop])

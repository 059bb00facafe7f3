"""Which pass made an operation: (operation, user line) of a final state traced back through the snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from indexer.ir.records import Blame, IrOp, Snapshot

Key = tuple[str, int]
SOURCE = "ttir"  # the pass argument of the snapshot that is the compiler's input
# Constants are merged and hoisted: one serves many lines, so it belongs to none.
_PLACELESS = frozenset({"arith.constant", "llvm.mlir.constant", "func.func", "llvm.func"})

# How an operation comes by its line: by its own location, along definitions and uses (into a function by the call that
# hands it its arguments), from the operation around it, or not at all.
Way = Literal["own", "flow", "around", "none"]


class Located(NamedTuple):
    """An operation with its user line (None where nothing tells it), and how it came by it."""

    op: IrOp
    line: int | None
    way: Way


class LineFinder:
    """Gives each operation its user line: its own, else one carried from its neighbours (950 loses some).

    Carried, in this order: from the producer of an operand, from a user of a result, both as far as they reach, from
    the operation around it, and in a function where none of these has one, such as an outlined vector function, from
    the call that runs it.
    """

    def __init__(self) -> None:
        self._functions: dict[int, tuple[IrOp, list[Located], list[tuple[str, int]]]] = {}

    def lines(self, functions: Mapping[str, IrOp]) -> Iterator[tuple[IrOp, int | None]]:
        """Yield every operation of the module with its line, None where nothing tells it."""
        return ((found.op, found.line) for found in self.located(functions))

    def located(self, functions: Mapping[str, IrOp]) -> Iterator[Located]:
        """Yield every operation of the module with its line and the way it came by it."""
        called: dict[str, int] = {}
        for function in functions.values():
            for callee, caller_line in self._of(function)[2]:
                called.setdefault(callee, caller_line)
        for name, function in functions.items():
            for found in self._of(function)[1]:
                if found.line is None and name in called and found.op.name not in _PLACELESS:
                    yield Located(found.op, called[name], "flow")
                else:
                    yield found

    def counts(self, functions: Mapping[str, IrOp]) -> Counter[Key]:
        """Count the operations by name and line; those without a line are left out."""
        return Counter((op.name, line) for op, line in self.lines(functions) if line is not None)

    def _of(self, function: IrOp) -> tuple[IrOp, list[Located], list[tuple[str, int]]]:
        # Keyed by identity, and the operation is kept alive: snapshots share the functions a pass did not touch.
        known = self._functions.get(id(function))
        if known is None:
            located = list(_locate(function))
            calls = [
                (found.op.attributes["callee"].lstrip("@"), found.line)
                for found in located
                if found.op.name == "func.call" and found.line is not None and "callee" in found.op.attributes
            ]
            known = self._functions[id(function)] = (function, located, calls)
        return known


def trace(snapshots: Sequence[Snapshot], final: Snapshot) -> tuple[Blame, ...]:
    """Say for each (operation, user line) of `final` which pass made it, sorted by line.

    The maker is the pass after which the count went from none to some for the last time before `final`; the names that
    fell on that line at that step are what it replaced. Operations of the source itself have no maker.
    """
    finder = LineFinder()
    history = [s for s in snapshots if s.position <= final.position]
    made = _makers(history, finder)
    wanted = finder.counts(final.functions)
    blames = (_blame(key, count, made.get(key)) for key, count in wanted.items())
    return tuple(sorted(blames, key=lambda b: (b.line, b.op)))


def _makers(history: Iterable[Snapshot], finder: LineFinder) -> dict[Key, tuple[Snapshot, tuple[str, ...]]]:
    made: dict[Key, tuple[Snapshot, tuple[str, ...]]] = {}
    before: Counter[Key] = Counter()
    for snapshot in history:
        after = finder.counts(snapshot.functions)
        fallen = before - after
        for key in after:
            if not before[key]:
                made[key] = (snapshot, _fallen_on(key[1], fallen))
        before = after
    return made


def _fallen_on(line: int, fallen: Counter[Key]) -> tuple[str, ...]:
    """Name the operations of a line that became fewer, most fallen first."""
    here = ((n, name) for (name, at), n in fallen.items() if at == line and name not in _PLACELESS)
    return tuple(name for _, name in sorted(here, key=lambda item: (-item[0], item[1])))


def _blame(key: Key, count: int, made: tuple[Snapshot, tuple[str, ...]] | None) -> Blame:
    op, line = key
    if made is None:
        return Blame(op, line, count, None, None, ())
    snapshot, replaced = made
    maker = None if snapshot.pass_argument == SOURCE else snapshot.pass_argument
    return Blame(op, line, count, maker, snapshot.position, replaced)


def _locate(function: IrOp) -> Iterator[Located]:
    """Yield the operations of one function with their own line or one carried inside the function."""
    lines: dict[int, int | None] = {id(op): op.place.line if op.place else None for op in function.walk()}
    ways: dict[int, Way] = {}
    if any(op.place is None and op.name not in _PLACELESS for op in function.walk()):
        lost = [(op, parents) for op, parents in function.walk_with_parents() if _is_lost(op, lines)]
        _carry_along(function, [op for op, _ in lost], lines)
        ways = {id(op): "flow" for op, _ in lost if lines[id(op)] is not None}
        for op, parents in lost:
            if lines[id(op)] is None:
                lines[id(op)] = _first_line(reversed(parents[1:]), lines)
                ways[id(op)] = "around"
    for op in function.walk():
        line = lines[id(op)]
        yield Located(op, line, "none" if line is None else ways.get(id(op), "own"))


def _is_lost(op: IrOp, lines: Mapping[int, int | None]) -> bool:
    return lines[id(op)] is None and op.name not in _PLACELESS


def _carry_along(function: IrOp, missing: list[IrOp], lines: dict[int, int | None]) -> None:
    """Fill `lines` along definitions and uses: from producers on, from users back, until nothing more is found."""
    producers, users = _neighbours(function)
    before = -1
    while missing and len(missing) != before:
        before = len(missing)
        for order, near in ((missing, producers), (missing[::-1], users)):
            for op in order:
                if lines[id(op)] is None:
                    lines[id(op)] = _first_line(near.get(id(op), ()), lines)
        missing = [op for op in missing if lines[id(op)] is None]


def _first_line(ops: Iterable[IrOp], lines: Mapping[int, int | None]) -> int | None:
    return next((line for line in (lines[id(op)] for op in ops) if line is not None), None)


def _neighbours(function: IrOp) -> tuple[dict[int, list[IrOp]], dict[int, list[IrOp]]]:
    """Return, by operation, those that make its operands and those that use its results; constants make nothing."""
    defined: dict[str, IrOp] = {}  # the latest wins: sibling regions use the same names again
    producers: dict[int, list[IrOp]] = {}
    users: dict[int, list[IrOp]] = {}
    for op in function.walk():
        makers = [defined[v.name] for v in op.operands if v.name in defined]
        producers[id(op)] = [maker for maker in makers if maker.name not in _PLACELESS]
        for maker in makers:
            users.setdefault(id(maker), []).append(op)
        defined.update((value.name, op) for value in op.results)
    return producers, users

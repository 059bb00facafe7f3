"""How much of a final module is traced to the user's lines, and what of it the compiler made on its own, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from indexer.ir.blame import SOURCE, LineFinder, Located
from indexer.ir.records import Snapshot

# What runs on a unit of the chip or moves data: addresses, numbers and functions apart.
# Of TTGIR what moves or computes tiles: addresses and layouts of constants apart.
_COUNTED_DIALECTS = (
    "hivm", "ave", "vector", "memref", "hivmave", "tt.load", "tt.store", "tt.atomic", "tt.dot", "tt.reduce", "tt.scan",
    "ttg.", "ttng.",
)  # fmt: skip
_LOOPS = ("scf.for", "scf.while")

# Why an operation exists that no line asks for.
Reason = Literal["order", "state", "place", "loop", "other"]
_ORDER = ("hivm.hir.set_flag", "hivm.hir.wait_flag", "hivm.hir.pipe_barrier", "hivm.hir.sync_")
_STATE = ("hivm.hir.set_", "hivm.hir.init_", "hivm.hir.get_")
_PLACE = ("hivm.hir.pointer_cast", "memref.")


@dataclass(frozen=True, slots=True)
class CompilerMade:
    """`count` operations of the compiler's own, the pass that made them, and why it did."""

    op: str
    count: int
    pass_argument: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Resolution:
    """The memory, vector, cube, synchronisation and loop operations of a final module, by what is known of them.

    `own` have a location of the user's file, `carried` get their line along definitions and uses, `made` are the
    compiler's own, `lost` are the others: nothing tells whose they are.
    """

    own: int
    carried: int
    lost: int
    made: tuple[CompilerMade, ...]

    @property
    def resolved_share(self) -> float:
        """Return the share with a user line of those that the compiler did not make on its own; 1 without any."""
        users = self.own + self.carried + self.lost
        return (self.own + self.carried) / users if users else 1.0

    @property
    def made_share(self) -> float:
        """Return the share of the compiler's own; 0 without any operations."""
        own = sum(m.count for m in self.made)
        counted = own + self.own + self.carried + self.lost
        return own / counted if counted else 0.0


def resolve(snapshots: Sequence[Snapshot], final: Snapshot) -> Resolution:
    """Sort the operations of `final`, the last of `snapshots` that counts, by where they come from."""
    finder = LineFinder()
    counted = [found for found in finder.located(final.functions) if is_counted(found)]
    ways = Counter(found.way for found in counted)
    strays = Counter(found.op.name for found in counted if found.way in {"around", "none"})
    made_by = _makers(snapshots, final, finder, frozenset(strays)) if strays else {}
    made = tuple(
        CompilerMade(name, count, made_by[name], _reason(name))
        for name, count in sorted(strays.items())
        if name in made_by
    )
    return Resolution(ways["own"], ways["flow"], strays.total() - sum(m.count for m in made), made)


def is_counted(found: Located) -> bool:
    """Tell whether an operation runs on a unit of the chip, moves data, or is a loop."""
    return found.op.name.startswith(_COUNTED_DIALECTS) or found.op.name in _LOOPS


def _makers(
    snapshots: Iterable[Snapshot], final: Snapshot, finder: LineFinder, names: frozenset[str]
) -> dict[str, str]:  # fmt: skip
    """Return, by operation, the pass after which the first without a line of its own was there for the last time."""
    made: dict[str, str] = {}
    before: frozenset[str] = frozenset()
    for snapshot in snapshots:
        if snapshot.position > final.position:
            break
        located = finder.located(snapshot.functions)
        after = frozenset(f.op.name for f in located if f.op.name in names and f.way in {"around", "none"})
        made |= dict.fromkeys(after - before, snapshot.pass_argument)
        before = after
    return {name: argument for name, argument in made.items() if argument != SOURCE}


def _reason(name: str) -> Reason:
    if name.startswith(_ORDER):
        return "order"
    if name.startswith(_PLACE):
        return "place"
    if name.startswith(_STATE):
        return "state"
    return "loop" if name in _LOOPS else "other"

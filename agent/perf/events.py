"""What a program does to the machine, as countable events: transfers, vector work, scalar work, cube steps, waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

FIXPIPE = "fixpipe"  # a transfer out of L0C
FILL = "vbrc"  # as a transfer: L1 filled with a number


@dataclass(frozen=True, slots=True)
class Transfer:
    """A DMA between GM and the chip, or between two memories of the chip: `base` is then "", and one to L1 a `write`.

    `bytes` are useful bytes, `pieces` the contiguous pieces of whichever side falls into more; `pitch_bytes` and
    `run_bytes` describe the GM side. `write` tells the direction, `atomic` that the memory adds or compares.
    """

    op: str
    line: int | None
    base: str
    bytes: int
    pieces: int
    run_bytes: int
    pitch_bytes: int | None
    write: bool
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector operation on UB: 256-byte repeats and hardware instructions; `known` False: no rule for this op."""

    op: str
    line: int | None
    repeats: int
    instructions: int
    last_axis: bool = False
    known: bool = True


@dataclass(frozen=True, slots=True)
class Register:
    """A register-level vector instruction inside a vector function (950): its op and element type."""

    op: str
    line: int | None
    element: str
    registers: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Register instructions of a vector function (950) that wait for one another, once a call: the way to its end."""

    line: int | None
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """One operation of the scalar unit; `known` False: an operation without a rule."""

    op: str
    line: int | None
    known: bool = True


@dataclass(frozen=True, slots=True)
class Access:
    """A scalar read or write of one element in UB or GM."""

    space: str
    line: int | None
    base: str
    bytes: int
    write: bool


@dataclass(frozen=True, slots=True)
class Cube:
    """A matrix multiply: `steps` of 16 x 16 x 32 bytes, `bits` of an input element."""

    line: int | None
    steps: int
    bits: int


@dataclass(frozen=True, slots=True)
class Sync:
    """A flag, barrier, lock or cross-core signal.

    A flag is raised when `first` has come so far and holds up `second`; a barrier drains `first`, all pipes for "ALL".
    `ids` are the event numbers that it may have: one, or those of a buffer with several copies, which take turns.
    """

    op: str
    line: int | None
    first: str = ""
    second: str = ""
    ids: tuple[int, ...] = ()


Event = Transfer | Vector | Register | Chain | Scalar | Access | Cube | Sync


class Tally:
    """Counts of equal events, and the order they come in; a loop's tally is added as often as it runs.

    `order` holds an event or a whole tally with its count; scalar operations of one line in a row are one entry.
    """

    __slots__ = ("counts", "order")

    def __init__(self) -> None:
        self.counts: dict[Event, float] = {}
        self.order: list[tuple[Event | Tally, float]] = []

    def add(self, event: Event, times: float = 1) -> None:
        """Count `event`."""
        self.counts[event] = self.counts.get(event, 0) + times
        if isinstance(event, Scalar):
            event = Scalar("", event.line)
            if self.order and self.order[-1][0] == event:
                times += self.order.pop()[1]
        self.order.append((event, times))

    def merge(self, other: Tally, times: float = 1) -> None:
        """Count all of `other`, `times` over."""
        for event, count in other.counts.items():
            self.counts[event] = self.counts.get(event, 0) + count * times
        if other.order and times:
            self.order.append((other, times))

    def placed(self, line: int | None) -> Tally:
        """Return the same counts in the same order with `line` for events that have none."""
        moved = Tally()
        for item, count in self.order:
            if isinstance(item, Tally):
                moved.order.append((item.placed(line), count))
            else:
                moved.order.append((_placed(item, line), count))
        for event, count in self.counts.items():
            placed = _placed(event, line)
            moved.counts[placed] = moved.counts.get(placed, 0) + count
        return moved

    def __iter__(self) -> Iterator[tuple[Event, float]]:
        return iter(self.counts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]  # a tally grows


def _placed(event: Event, line: int | None) -> Event:
    return event if event.line is not None else replace(event, line=line)


def mean(tallies: list[Tally]) -> Tally:
    """Return the average of several programs."""
    total = Tally()
    for tally in tallies:
        total.merge(tally, 1 / len(tallies))
    return total

"""What a program does to the machine, as countable events: transfers, vector work, scalar work, cube steps, waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Transfer:
    """A DMA between GM and the chip (or between two memories of the chip: `base` is then "").

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
    """A flag, barrier, lock or cross-core signal."""

    op: str
    line: int | None


Event = Transfer | Vector | Register | Scalar | Access | Cube | Sync


class Tally:
    """Counts of equal events; a loop's tally is added to its surroundings as often as it runs."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[Event, float] = {}

    def add(self, event: Event, times: float = 1) -> None:
        """Count `event`."""
        self.counts[event] = self.counts.get(event, 0) + times

    def merge(self, other: Tally, times: float = 1) -> None:
        """Count all of `other`, `times` over."""
        for event, count in other.counts.items():
            self.counts[event] = self.counts.get(event, 0) + count * times

    def placed(self, line: int | None) -> Tally:
        """Return the same counts with `line` for events that have none."""
        moved = Tally()
        for event, count in self.counts.items():
            moved.add(event if event.line is not None else replace(event, line=line), count)
        return moved

    def __iter__(self) -> Iterator[tuple[Event, float]]:
        return iter(self.counts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]  # a tally grows


def mean(tallies: list[Tally]) -> Tally:
    """Return the average of several programs."""
    total = Tally()
    for tally in tallies:
        total.merge(tally, 1 / len(tallies))
    return total

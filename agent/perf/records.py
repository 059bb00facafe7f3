"""What a predicted profile holds beside the time: memories filled, bytes wasted, the roofline, cores that wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fill:
    """From here on `bytes` are taken: `at` is the share of the program's predicted time, in the order of its code."""

    at: float
    bytes: int
    line: int | None


@dataclass(frozen=True, slots=True)
class Occupancy:
    """A memory of the chip (ub, l1 or l0c) while a program runs, from the planned places of buffers that are in use."""

    memory: str
    limit_bytes: int
    curve: tuple[Fill, ...]

    @property
    def peak(self) -> Fill:
        """Return the first place at which most is taken."""
        return max(self.curve, key=lambda fill: fill.bytes)


@dataclass(frozen=True, slots=True)
class Roofline:
    """Where a launch stands under its roof: operations per byte and per microsecond, predicted.

    `unit` is the one whose peak is the roof (cube or vector); a multiply and an addition are two operations. Peak and
    bandwidth are those that the model has for all cores together.
    """

    unit: str
    operations: float
    operations_per_byte: float
    achieved_per_us: float
    attainable_per_us: float
    peak_per_us: float
    bytes_per_us: float

    @property
    def bound(self) -> str:
        """Return whether memory or the unit bounds what is attainable."""
        return "memory" if self.attainable_per_us < self.peak_per_us else self.unit


@dataclass(frozen=True, slots=True)
class Profile:
    """The predicted profile of one launch; `kind` is what it is like (agent/perf/experience.py).

    `moved_bytes` pass between cores and global memory: whole blocks of 32 bytes, and what goes through the compiler's
    workspace. `useful_bytes` are those of them that the kernel asked for. `waits` are the mean microseconds in which
    the cube core, and the vector core, of a program wait for signals of the other; empty for one kind of core.
    """

    kind: str
    moved_bytes: int
    useful_bytes: int
    occupancy: tuple[Occupancy, ...]
    roofline: Roofline | None
    waits: Mapping[str, float]

"""What each event costs on one core, in microseconds: how long it occupies its pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.perf.constants import Constants
from agent.perf.events import FILL, FIXPIPE, Access, Chain, Cube, Event, Register, Scalar, Sync, Tally, Transfer, Vector
from agent.perf.vectors import REPEAT_BYTES, register_key

Term = Literal["load", "store", "vector", "scalar", "cube", "sync", "launch", "imbalance"]
TERMS: tuple[Term, ...] = ("load", "store", "vector", "scalar", "cube", "sync", "launch", "imbalance")
_FP32_BITS = 32


def term_of(event: Event) -> Term:
    """Return what the time of `event` counts as."""
    match event:
        case Transfer():
            if event.op == FIXPIPE or (event.write and event.op != FILL):
                return "store"
            return "load" if event.base or event.op == FILL else "vector"
        case Vector() | Register() | Chain():
            return "vector"
        case Cube():
            return "cube"
        case Sync():
            return "sync"
        case Scalar() | Access():
            return "scalar"


@dataclass(frozen=True, slots=True)
class Pricing:
    """Durations on one kind of core, `cube` or vector.

    `missed` tells, per kernel parameter and direction, the share of its bytes that comes from HBM; L2 serves the rest.
    """

    constants: Constants
    cube: bool = False
    missed: Mapping[tuple[str, bool], float] = field(default_factory=dict)

    def duration(self, event: Event) -> float:
        """Return how long `event` occupies its pipe."""
        c = self.constants
        match event:
            case Transfer():
                return self._move(event)
            case Vector():
                weight = c.weights.get(event.op, c.weights["last_axis"] if event.last_axis else 1)
                return event.instructions * c.vector_instruction_us + event.repeats * c.vector_repeat_us * weight
            case Register():
                interval = c.intervals.get(register_key(event.op, event.element), c.intervals["default"])
                return event.registers * c.vector_repeat_us * interval / c.intervals["units"]
            case Chain():
                return c.vector_repeat_us * sum(c.latencies.get(op, c.latencies["default"]) for op in event.ops)
            case Scalar():
                return c.scalar_us
            case Access():
                return c.scalar_us * (c.gm_access_scalars if event.space == "gm" else c.ub_access_scalars)
            case Cube():
                return event.steps * c.cube_step_us * (c.cube_fp32_factor if event.bits == _FP32_BITS else 1)
            case Sync():
                return c.sync_us

    def total(self, tally: Tally) -> float:
        """Return the time of a whole tally if nothing overlapped."""
        return sum(self.duration(event) * count for event, count in tally)

    def _move(self, event: Transfer) -> float:
        c = self.constants
        if not event.base and term_of(event) == "vector":  # within UB, by the vector unit
            return c.vector_instruction_us + event.bytes / REPEAT_BYTES * c.vector_repeat_us
        rate = c.cube_bytes_per_us if self.cube else c.core_bytes_per_us
        return c.transfer_us + max(event.pieces * c.piece_us, event.bytes / rate)

    def lag(self, event: Event) -> float:
        """Return how much later than its pipe is done the data of `event` are there: the way from HBM."""
        if not isinstance(event, Transfer) or event.write or not event.base:
            return 0.0
        return self.missed.get((event.base, False), 1.0) * self.constants.miss_us

"""What each event costs on one core, in microseconds: how long it occupies its pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent.perf.constants import Constants
from agent.perf.describe import REPEAT_BYTES
from agent.perf.events import Access, Cube, Event, Register, Scalar, Sync, Tally, Transfer, Vector

Term = Literal["load", "store", "vector", "scalar", "cube", "sync", "launch", "imbalance"]
TERMS: tuple[Term, ...] = ("load", "store", "vector", "scalar", "cube", "sync", "launch", "imbalance")
_FP32_BITS = 32
_FLOATS = {"bf16": "f16"}  # the vendor's table has no bf16
# Register instructions of the 950 under the name of the arith or math operation that the vendor's table lists.
_REGISTER_NAMES = {
    "vadd": "addf", "vadds": "addf", "vsub": "subf", "vmul": "mulf", "vmuls": "mulf", "vdiv": "divf", "vexp": "exp",
    "vsqrt": "sqrt", "vln": "log", "vsitofp": "sitofp", "vfptosi": "fptosi",
}  # fmt: skip
_INTEGER_NAMES = {"addf": "addi", "subf": "subi", "mulf": "muli"}


def term_of(event: Event) -> Term:
    """Return what the time of `event` counts as."""
    match event:
        case Transfer():
            return "vector" if not event.base else "store" if event.write else "load"
        case Vector() | Register():
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
                return event.registers * c.vector_repeat_us * self._interval(event) / c.intervals["units"]
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
        if not event.base:  # within the chip, by the vector unit
            return c.vector_instruction_us + event.bytes / REPEAT_BYTES * c.vector_repeat_us
        rate = c.cube_bytes_per_us if self.cube else c.core_bytes_per_us
        missed = 0.0 if event.write else self.missed.get((event.base, False), 1.0)
        slow = rate * c.core_miss_bytes_per_us / c.core_bytes_per_us
        moving = event.bytes * ((1 - missed) / rate + missed / slow)
        return c.transfer_us + missed * c.miss_us + max(event.pieces * c.piece_us, moving)

    def _interval(self, event: Register) -> float:
        name = event.op.rpartition(".")[2]
        name = _REGISTER_NAMES.get(name, name)
        element = _FLOATS.get(event.element, event.element)
        if element.startswith("i"):
            name = _INTEGER_NAMES.get(name, name)
        return self.constants.intervals.get(f"{name} {element}", self.constants.intervals["default"])

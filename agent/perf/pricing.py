"""The additive model: what each event costs on one core, in microseconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.perf.constants import Constants
from agent.perf.events import Access, Cube, Event, Register, Scalar, Sync, Tally, Transfer, Vector

TERMS = ("memory", "vector", "scalar", "cube", "sync", "launch")
_FP32_BITS = 32
_FLOATS = {"bf16": "f16"}  # the vendor's table has no bf16
# Register instructions of the 950 under the name of the arith or math operation that the vendor's table lists.
_REGISTER_NAMES = {
    "vadd": "addf", "vadds": "addf", "vsub": "subf", "vmul": "mulf", "vmuls": "mulf", "vdiv": "divf", "vexp": "exp",
    "vsqrt": "sqrt", "vln": "log", "vsitofp": "sitofp", "vfptosi": "fptosi",
}  # fmt: skip
_INTEGER_NAMES = {"addf": "addi", "subf": "subi", "mulf": "muli"}


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices for one kind of core while `active` of them run; no overlap of units is credited.

    `from_hbm` tells, per kernel parameter and direction, the share of its bytes that comes from HBM; the rest is
    served by L2, at the same time. `cube` is true on a cube core.
    """

    constants: Constants
    active: int
    cube: bool = False
    from_hbm: Mapping[tuple[str, bool], float] = field(default_factory=dict)

    def price(self, event: Event) -> tuple[str, float]:
        """Return the term that `event` belongs to and its time."""
        c = self.constants
        match event:
            case Transfer():
                moving = event.bytes / self._rate(event.base, write=event.write)
                return "memory", c.transfer_us + max(event.pieces * c.piece_us, moving)
            case Vector():
                weight = c.weights.get(event.op, c.weights["last_axis"] if event.last_axis else 1)
                return "vector", event.instructions * c.vector_instruction_us + event.repeats * (
                    c.vector_repeat_us * weight
                )
            case Register():
                return "vector", event.registers * c.vector_repeat_us * self._interval(event) / c.intervals["units"]
            case Scalar():
                return "scalar", c.scalar_us
            case Access():
                scalars = c.gm_access_scalars if event.space == "gm" else c.ub_access_scalars
                return "scalar", scalars * c.scalar_us
            case Cube():
                factor = c.cube_fp32_factor if event.bits == _FP32_BITS else 1
                return "cube", event.steps * factor * c.cube_step_us
            case Sync():
                return "sync", c.sync_scalars * c.scalar_us

    def total(self, tally: Tally) -> float:
        """Return the time of a whole tally on one core."""
        return sum(self.price(event)[1] * count for event, count in tally)

    def _rate(self, base: str, *, write: bool) -> float:
        """Return bytes per microsecond for this core: the tightest of its own limit, L2 and HBM."""
        c = self.constants
        own = c.core_bytes_per_us * (c.cube_core_factor if self.cube else 1)
        if not base:
            return own
        share = self.from_hbm.get((base, write), 1.0)
        hbm = c.hbm_bytes_per_us / share if share else math.inf
        return min(own, hbm / self.active, c.l2_bytes_per_us / self.active)

    def _interval(self, event: Register) -> float:
        name = event.op.rpartition(".")[2]
        name = _REGISTER_NAMES.get(name, name)
        element = _FLOATS.get(event.element, event.element)
        if element.startswith("i"):
            name = _INTEGER_NAMES.get(name, name)
        return self.constants.intervals.get(f"{name} {element}", self.constants.intervals["default"])

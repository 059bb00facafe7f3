"""What a bundle's results say, as documents: every time with its spread, every kernel with what became of it."""

from __future__ import annotations

from pydantic import Field

from agent.contract_parts import Doc


class TimeDoc(Doc):
    """A measured time: the median of two groups of replays that agree, their quartiles, and how it was taken."""

    us: float
    basis: str = "measured"
    quartiles_us: list[float]
    spread: float
    agreed: bool
    replays: int
    method: str
    l2: str


class DeviceChecksDoc(Doc):
    """How a file was checked on the device."""

    level: str = "device"
    cases: list[str]
    max_error: float


class MeasuredKernelDoc(Doc):
    """One kernel: times of its first form, of the best candidate and of what others offer.

    `best` is "" where nothing was better; `reason` then says why, or why there is no time at all. `again` is the first
    form timed once more in a process of its own.
    """

    kernel: str
    sha256: str
    initial: TimeDoc | None
    again: TimeDoc | None = None
    best: str = ""
    best_sha256: str = ""
    best_note: str = ""
    best_time: TimeDoc | None = None
    speedup: float | None = None
    checks: DeviceChecksDoc | None = None
    compiled: TimeDoc | None = None
    library: TimeDoc | None = None
    expert: TimeDoc | None = None
    tried: int = 0
    failed: dict[str, str] = Field(default_factory=dict)
    reason: str = ""


class MeasuredDoc(Doc):
    """The results of a bundle; speedups are of measured times only, over the kernels that have both."""

    bundle: str
    plan: str
    target: str
    taken_at: str
    measured_at: str
    machine: dict[str, object]
    state: dict[str, str]
    kernels: list[MeasuredKernelDoc]
    missing: list[str]
    geometric_mean: float | None
    median: float | None
    above_2x: float | None
    above_5x: float | None
    against_compiled: float | None
    against_library: float | None
    against_expert: float | None
    same_twice: float | None = Field(description="median difference of the same kernel timed in two processes")

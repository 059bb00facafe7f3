"""The JSON form of profiles: measured times with their own basis, and what is predicted beside a predicted time."""

from __future__ import annotations

from typing import Literal

from agent.contract_parts import Doc
from agent.perf.records import Occupancy, Profile
from agent.profile.records import Profiles
from indexer.messages import Lang, render


class MeasuredDoc(Doc):
    """A measured time."""

    value: float
    unit: Literal["us"] = "us"
    basis: Literal["measured"] = "measured"


class KernelProfileDoc(Doc):
    """A kernel as a profiler saw it: `busy` are shares of the cores' time; `limiter` may be "", not told."""

    kernel: str
    tool: str
    files: list[str]
    cost: MeasuredDoc | None
    limiter: str
    busy: dict[str, float]
    core_us: list[float]
    programs: int | None


class ProfilesDoc(Doc):
    """What `--profile` found, and what could not be read of it."""

    kernels: list[KernelProfileDoc]
    notes: list[str]


class FillDoc(Doc):
    """From `at` on, a share of the program's predicted time in the order of its code, so many bytes are taken."""

    at: float
    bytes: int
    line: int | None


class OccupancyDoc(Doc):
    """A memory of the chip (ub, l1, l0c) while a program runs."""

    memory: str
    limit_bytes: int
    peak_bytes: int
    peak_line: int | None
    curve: list[FillDoc]


class RooflineDoc(Doc):
    """A launch under its roof, in operations per byte and per microsecond; all of it predicted."""

    unit: str
    bound: str
    operations: float
    operations_per_byte: float
    achieved_per_us: float
    attainable_per_us: float
    peak_per_us: float
    bytes_per_us: float


class PredictedProfileDoc(Doc):
    """What a predicted profile holds beside the time; `waits_us`: of a mixed kernel's cores, for one another."""

    basis: Literal["predicted"] = "predicted"
    kind: str
    moved_bytes: int
    useful_bytes: int
    occupancy: list[OccupancyDoc]
    roofline: RooflineDoc | None
    waits_us: dict[str, float]


def predicted_profile_doc(found: Profile | None) -> PredictedProfileDoc | None:
    """Give a predicted profile its JSON form; None for a device without one."""
    if found is None:
        return None
    roof = found.roofline
    return PredictedProfileDoc(
        kind=found.kind, moved_bytes=found.moved_bytes, useful_bytes=found.useful_bytes,
        occupancy=[_occupancy(o) for o in found.occupancy],
        roofline=None if roof is None else RooflineDoc(
            unit=roof.unit, bound=roof.bound, operations=roof.operations, operations_per_byte=roof.operations_per_byte,
            achieved_per_us=roof.achieved_per_us, attainable_per_us=roof.attainable_per_us,
            peak_per_us=roof.peak_per_us, bytes_per_us=roof.bytes_per_us,
        ),
        waits_us=dict(found.waits),
    )  # fmt: skip


def _occupancy(found: Occupancy) -> OccupancyDoc:
    return OccupancyDoc(
        memory=found.memory, limit_bytes=found.limit_bytes, peak_bytes=found.peak.bytes, peak_line=found.peak.line,
        curve=[FillDoc(at=fill.at, bytes=fill.bytes, line=fill.line) for fill in found.curve],
    )  # fmt: skip


def profiles_doc(found: Profiles, lang: Lang) -> ProfilesDoc:
    """Give profiles their JSON form."""
    kernels = [
        KernelProfileDoc(
            kernel=p.kernel, tool=p.tool, files=[str(path) for path in p.files],
            cost=None if p.us is None else MeasuredDoc(value=p.us), limiter=p.limiter, busy=dict(p.busy),
            core_us=list(p.core_us), programs=p.programs,
        )
        for p in found.kernels
    ]  # fmt: skip
    return ProfilesDoc(kernels=kernels, notes=[render(note, lang) for note in found.notes])

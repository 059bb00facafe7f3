"""The JSON form of measured profiles: times with their own basis, beside no predicted figure."""

from __future__ import annotations

from typing import Literal

from agent.contract_parts import Doc
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

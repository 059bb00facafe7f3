"""What is taken from a profiler's files, in the vocabulary of the predicted profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from indexer.messages import Message

Tool = Literal["msopprof", "msprof", "ncu", "proton"]


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """One kernel as a profiler saw it: `us` is its measured time, None where the files do not say.

    `busy` is the share of the cores' time that each unit worked, by term (load, store, vector, cube, scalar); units
    work side by side, so that the sum may be above 1. `core_us` are the times of the cores, one each. `limiter` is ""
    where the files do not tell.
    """

    kernel: str
    tool: Tool
    files: tuple[Path, ...]
    us: float | None
    limiter: str = ""
    busy: Mapping[str, float] = field(default_factory=dict)
    core_us: tuple[float, ...] = ()
    programs: int | None = None


@dataclass(frozen=True, slots=True)
class Profiles:
    """All kernels found in a folder, and what could not be read of it."""

    kernels: tuple[KernelProfile, ...]
    notes: tuple[Message, ...]

    def of(self, kernel: str) -> KernelProfile | None:
        """Return the profile of `kernel`: that of its name, or of a name that holds it; the longest of several."""
        found = [p for p in self.kernels if p.kernel == kernel] or [p for p in self.kernels if kernel in p.kernel]
        unnamed = [p for p in self.kernels if not p.kernel]  # PipeUtilization.csv alone does not name its kernel
        return max(found or unnamed, key=lambda p: p.us or 0.0, default=None)

"""What all programs of a launch ask of the memories that the cores share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.perf.constants import Constants
from agent.perf.events import Access, Transfer
from agent.perf.launch import SUB_BLOCKS, Followed


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of all programs together: read from and written to HBM, and all that pass L2.

    `missed` is the share of each tensor's traffic, by direction, that comes from or goes to HBM.
    """

    read: float
    written: float
    passed: float
    missed: Mapping[tuple[str, bool], float]


def measure_traffic(followed: Followed, constants: Constants, *, cold: bool) -> Traffic:
    """Sum the transfers of `followed`: of each tensor its bytes once meet HBM, none if a warm cache holds all."""
    moved: dict[tuple[str, bool], float] = defaultdict(float)
    for event, count in gm_events(followed):
        moved[event.base, event.write] += event.bytes * count
    held = not cold and sum(followed.footprint.values()) <= constants.l2_bytes
    missed: dict[tuple[str, bool], float] = {}
    for (base, write), total in moved.items():
        size = followed.footprint.get(base, total)
        missed[base, write] = 0.0 if held or not total else min(1.0, size / total)
    read = sum(missed[key] * total for key, total in moved.items() if not key[1])
    written = sum(missed[key] * total for key, total in moved.items() if key[1])
    return Traffic(read, written, sum(moved.values()), missed)


def missed_by_cores(traffic: Traffic, at_once: int, constants: Constants) -> dict[tuple[str, bool], float]:
    """Return the share of each tensor's traffic for which a core waits for HBM.

    It is larger than what HBM serves: programs that run at once and want the same bytes wait for them together.
    """
    together = at_once**constants.miss_together
    return {key: min(1.0, share * together) for key, share in traffic.missed.items()}


def gm_events(followed: Followed) -> Iterator[tuple[Transfer | Access, float]]:
    """Yield what moves data between a core and global memory, with its count over all programs and cores."""
    each = followed.programs / len(followed.blocks)
    for block in followed.blocks:
        for tally, cores in ((block.cube, 1), (block.vector, SUB_BLOCKS if followed.cube else 1)):
            for event, count in tally:
                if isinstance(event, Transfer | Access) and event.base:
                    yield event, count * cores * each


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long each shared resource, and the busiest core, would take alone, in microseconds."""

    work: float
    hbm_read: float
    hbm_write: float
    l2: float
    dispatch: float

    def together(self, power: float) -> float:
        """Return the time with all of them: close to the longest, more where several are about as long."""
        return float(sum(part**power for part in self._parts) ** (1 / power))

    def shares(self, power: float) -> tuple[float, float, float, float]:
        """Return the shares of work, HBM, L2 and dispatch in that time."""
        powers = [part**power for part in self._parts]
        total = sum(powers) or 1.0
        work, hbm, l2, dispatch = (p / total for p in powers)
        return work, hbm, l2, dispatch

    @property
    def _parts(self) -> tuple[float, float, float, float]:
        return self.work, self.hbm_read + self.hbm_write, self.l2, self.dispatch


def bound_launch(work: float, programs: int, traffic: Traffic, constants: Constants) -> Bounds:
    """Return the bounds of a launch whose busiest core works for `work` microseconds."""
    c = constants
    read, written = traffic.read / c.hbm_read_bytes_per_us, traffic.written / c.hbm_write_bytes_per_us
    # Reading and writing in turns costs HBM more than either alone.
    turns = c.turnaround * min(traffic.read, traffic.written) / c.hbm_read_bytes_per_us
    both = read + written or 1.0
    return Bounds(
        work, read + turns * read / both, written + turns * written / both, traffic.passed / c.l2_bytes_per_us,
        c.program_us * programs,
    )  # fmt: skip

"""Measured shares -> the one thing that limits a kernel, in the words of the predicted profile."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

# Ours, not a vendor's: a unit that works less than this share of the time does not limit the kernel ...
BUSY_SHARE = 0.4
# ... the cores are the smaller part of a kernel that takes more than twice their time ...
CORE_SHARE = 0.5
# ... and one core that works so much longer than the average is waited for.
UNEVEN = 1.3


def name_limiter(busy: Mapping[str, float], core_us: Sequence[float], us: float | None) -> str:
    """Return launch, imbalance, the busiest unit, or sync where all of them wait; "" if nothing is known."""
    longest = max(core_us, default=0.0)
    if us and longest and longest < CORE_SHARE * us:
        return "launch"
    if longest and longest > UNEVEN * statistics.mean(core_us):
        return "imbalance"
    if not busy:
        return ""
    unit = max(busy, key=lambda term: busy[term])
    return unit if busy[unit] >= BUSY_SHARE else "sync"

"""What one way is worth against another on the same kernels: the mean ratio of their speedups, with an interval."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

DRAWS = 10_000
SEED = 20_260_723
# The interval holds so much of the draws.
COVERED = 0.95


@dataclass(frozen=True, slots=True)
class Paired:
    """The geometric mean of `ours / theirs` over `kernels`, its interval, and how many are better, the same, worse."""

    kernels: int
    ratio: float
    low: float
    high: float
    better: int
    same: int
    worse: int


def compare_paired(ours: Sequence[float], theirs: Sequence[float], same: float = 0.02) -> Paired:
    """Compare speedups of the same kernels, in the same order; the interval is drawn from the kernels, with one seed.

    Ratios within `same` of one count as the same: smaller differences are below the cost model's own error.
    """
    logs = [math.log(a / b) for a, b in zip(ours, theirs, strict=True)]
    if not logs:
        raise ValueError("no kernels to compare")
    chance = random.Random(SEED)  # noqa: S311 - draws, no secret
    means = sorted(math.fsum(chance.choices(logs, k=len(logs))) / len(logs) for _ in range(DRAWS))
    outside = (1 - COVERED) / 2
    low, high = means[int(outside * DRAWS)], means[int((1 - outside) * DRAWS) - 1]
    limit = math.log1p(same)
    return Paired(
        len(logs), math.exp(math.fsum(logs) / len(logs)), math.exp(low), math.exp(high),
        sum(x > limit for x in logs), sum(abs(x) <= limit for x in logs), sum(x < -limit for x in logs),
    )  # fmt: skip

"""What several runs come to together: one basis at a time, failures counted beside successes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from agent.contract import Basis, OptimizeDoc


@dataclass(frozen=True, slots=True)
class Overview:
    """The speedups of the runs with one basis; one that kept nothing counts as 1, one without a speedup not at all."""

    basis: Basis
    count: int
    geometric_mean: float
    median: float
    above_2: float
    above_5: float


def speedup_of(doc: OptimizeDoc) -> float | None:
    """Return the speedup of a run; None where one end has no cost, or the ends have not the same basis."""
    before, after = doc.baseline.cost, doc.best.cost
    if before is None or after is None or before.basis != after.basis:
        return None
    return doc.best.speedup


def overviews(docs: Iterable[OptimizeDoc]) -> tuple[Overview, ...]:
    """Sum up finished runs, each basis for itself."""
    by_basis: dict[Basis, list[float]] = {}
    for doc in docs:
        speedup = speedup_of(doc)
        if speedup is not None and doc.best.cost is not None:
            by_basis.setdefault(doc.best.cost.basis, []).append(speedup)
    return tuple(_overview(basis, speedups) for basis, speedups in by_basis.items())


def _overview(basis: Basis, speedups: list[float]) -> Overview:
    return Overview(
        basis,
        len(speedups),
        statistics.geometric_mean(speedups),
        statistics.median(speedups),
        sum(s > 2 for s in speedups) / len(speedups),
        sum(s > 5 for s in speedups) / len(speedups),
    )

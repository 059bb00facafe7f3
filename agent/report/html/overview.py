"""What several runs come to together, one basis at a time."""

from __future__ import annotations

from collections.abc import Iterable

from agent.contract import OptimizeDoc
from agent.contract_run import SummaryDoc
from agent.summary import summarize


def speedup_of(doc: OptimizeDoc) -> float | None:
    """Return the speedup of a run; None where one end has no cost, or the ends have not the same basis."""
    before, after = doc.baseline.cost, doc.best.cost
    if before is None or after is None or before.basis != after.basis:
        return None
    return doc.best.speedup


def summaries(docs: Iterable[OptimizeDoc]) -> tuple[SummaryDoc, ...]:
    """Sum up the runs that have a speedup, those of each basis for themselves."""
    by_basis: dict[str, list[OptimizeDoc]] = {}
    for doc in docs:
        if doc.best.cost is not None and speedup_of(doc) is not None:
            by_basis.setdefault(doc.best.cost.basis, []).append(doc)
    return tuple(summarize(found, failed=0) for found in by_basis.values())

"""What several runs gave together: means of speedups of one basis, and who failed, beside a published result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from agent.contract import OptimizeDoc
from agent.contract_run import ReferenceDoc, SummaryDoc
from agent.propose.tokens import sum_tokens

# arXiv 2607.23089: 37 operators on an Ascend 950, a model at every rung, against the first Triton kernel.
REFERENCE = ReferenceDoc(
    geometric_mean=4.35, median=2.73, basis="measured", source="arXiv 2607.23089, 37 operators, Ascend 950"
)


def summarize(docs: Sequence[OptimizeDoc], failed: int) -> SummaryDoc:
    """Add runs up. A kernel that got no better counts with 1; one that did not compile at first is no speedup."""
    bases = Counter(doc.best.cost.basis for doc in docs if doc.best.cost is not None)
    basis = bases.most_common(1)[0][0] if bases else ""
    speedups = [
        doc.best.speedup
        for doc in docs
        if doc.best.speedup is not None and doc.best.cost is not None and doc.best.cost.basis == basis
    ]
    rounds = Counter(str(doc.best.round) for doc in docs if doc.best.round)
    return SummaryDoc(
        kernels=len(docs) + failed,
        failed=failed,
        kept=sum(doc.best.round > 0 for doc in docs),
        repaired=sum(doc.best.repaired for doc in docs),
        basis=basis,
        geometric_mean=geometric_mean(speedups),
        median=median(speedups) if speedups else None,
        above_2x=_share_above(speedups, 2.0),
        above_5x=_share_above(speedups, 5.0),
        best_rounds={number: rounds[number] for number in sorted(rounds, key=int)},
        tokens=sum_tokens(doc.tokens for doc in docs),
        reference=REFERENCE,
    )


def geometric_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean of positive numbers, None of none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _share_above(values: Sequence[float], limit: float) -> float | None:
    return sum(value > limit for value in values) / len(values) if values else None

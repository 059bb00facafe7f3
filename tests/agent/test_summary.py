"""What several runs gave together."""

from __future__ import annotations

import pytest

from agent.contract import BaselineDoc, BestDoc, CostDoc, IntervalDoc, OptimizeDoc
from agent.contract_run import TokensDoc
from agent.summary import summarize


def cost(value: float, basis: str = "predicted") -> CostDoc:
    return CostDoc(value=value, basis=basis, interval=IntervalDoc(low=value, high=value), limiter="load")  # type: ignore[arg-type]


def a_run(before: float | None, after: float | None, round_: int, basis: str = "predicted") -> OptimizeDoc:
    first, last = (None if value is None else cost(value, basis) for value in (before, after))
    best = BestDoc(
        round=round_, cost=last, file="best.py", repaired=first is None and last is not None,
        speedup=before / after if before is not None and after is not None else None,
    )  # fmt: skip
    return OptimizeDoc(
        kernel="k", target="t", file="k.py", out="out", findings=[], rounds=[], stopped="rounds", seconds=1.0,
        baseline=BaselineDoc(cost=first, status="ok" if first else "rejected", diagnostics=[]), best=best,
        tokens=TokensDoc(prompt=3, completion=2, requests=1),
    )  # fmt: skip


def test_means_are_of_all_kernels_that_compile_those_without_gain_too() -> None:
    found = summarize([a_run(8.0, 1.0, 3), a_run(2.0, 2.0, 0), a_run(9.0, 3.0, 3), a_run(None, 5.0, 1)], failed=2)
    assert found.geometric_mean == pytest.approx(24 ** (1 / 3))
    assert found.median == 3.0
    assert (found.above_2x, found.above_5x) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert (found.kernels, found.kept, found.repaired, found.failed) == (6, 3, 1, 2)
    assert found.best_rounds == {"1": 1, "3": 2}
    assert (found.tokens.prompt, found.tokens.requests) == (12, 4)


def test_the_published_means_stand_beside_with_their_own_basis() -> None:
    found = summarize([a_run(8.0, 1.0, 3)], failed=0)
    assert (found.basis, found.reference.basis) == ("predicted", "measured")
    assert (found.reference.geometric_mean, found.reference.median) == (4.35, 2.73)


def test_bases_are_not_mixed() -> None:
    runs = [a_run(8.0, 1.0, 1), a_run(8.0, 1.0, 1), a_run(100.0, 1.0, 1, "measured")]
    assert summarize(runs, failed=0).geometric_mean == pytest.approx(8.0)


def test_no_run_that_ended_well_has_no_mean() -> None:
    found = summarize([], failed=2)
    assert (found.geometric_mean, found.median, found.above_2x) == (None, None, None)

"""Pairs of runs: what one way is worth against another."""

from __future__ import annotations

import pytest

from agent.paired import compare_paired


def test_the_ratio_is_of_pairs_and_its_interval_is_the_same_each_time() -> None:
    ours, theirs = [4.0, 2.0, 1.0, 3.0, 8.0], [2.0, 1.0, 1.0, 1.5, 4.0]
    found = compare_paired(ours, theirs)
    assert found == compare_paired(ours, theirs)
    assert found.ratio == pytest.approx(2 ** (4 / 5))
    assert found.low <= found.ratio <= found.high
    assert found.low > 1.0
    assert found.high == pytest.approx(2.0)
    assert (found.better, found.same, found.worse) == (4, 1, 0)


def test_equal_runs_differ_by_nothing() -> None:
    found = compare_paired([1.0, 5.0], [1.0, 5.0])
    assert (found.low, found.ratio, found.high, found.same) == (1.0, 1.0, 1.0, 2)


def test_noise_around_one_has_an_interval_that_holds_one() -> None:
    found = compare_paired([1.1, 0.9, 1.05, 0.95], [1.0] * 4)
    assert found.low < 1.0 < found.high


def test_runs_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        compare_paired([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="no kernels"):
        compare_paired([], [])

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.evaluate import Truth
from agent.evaluate_cost_documents import directions_doc
from agent.evaluate_cost_pairs import Direction
from agent.perf.pricing import TERMS
from agent.records import Cost, Interval
from agent.symptoms.table import SYMPTOMS
from indexer.messages import message, render

PAIRS = Path(__file__).parents[1] / "pairs"


def cost(**terms: float) -> Cost:
    value = sum(terms.values())
    return Cost(value, "predicted", Interval(value, value), max(terms, key=lambda t: terms[t]), terms=terms)


def pair(slow: Cost | None, fast: Cost | None, symptom: str = "nan_max", *, made: bool = True) -> Direction:
    return Direction(Truth(symptom, symptom, "ascend910b3", None, (), ()), slow, fast, made)


def test_the_term_that_grows_most_must_be_what_the_symptom_is_about() -> None:
    more_vector = pair(cost(load=5.0, vector=2.0), cost(load=5.0, vector=1.0))
    more_load = pair(cost(load=7.0, vector=1.0), cost(load=5.0, vector=1.0))
    assert (more_vector.grows, more_vector.right, more_vector.fits) == ("vector", True, True)
    assert (more_load.grows, more_load.right, more_load.fits) == ("load", True, False)
    assert more_load.reason is not None
    assert more_load.reason.key == "eval.pair_other_limiter"


def test_equal_costs_count_as_wrong_and_each_exception_has_its_reason_in_both_languages() -> None:
    tie = pair(cost(load=5.0), cost(load=5.0), "single_shot")
    absent = pair(cost(load=5.0), cost(load=5.0), made=False)
    refused = pair(None, None, made=False)
    plain = pair(cost(load=5.0), cost(load=5.0))
    assert not any(one.right for one in (tie, absent, refused, plain))
    reasons = [one.reason for one in (tie, absent, refused, plain)]
    keys = ["eval.pair_single_shot", "eval.pair_no_structure", "eval.pair_rejected", "eval.pair_unexplained"]
    assert [reason.key for reason in reasons if reason is not None] == keys
    for key in (*keys, *(f"eval.pair_{symptom.id}" for symptom in SYMPTOMS if symptom.is_moved)):
        assert render(message(key), "en") != render(message(key), "zh")


def test_a_slow_kernel_that_is_refused_is_slower_than_any() -> None:
    found = pair(None, cost(load=5.0), "ub_overflow")
    assert (found.right, found.fits, found.grows) == (True, True, "")


def test_pairs_without_the_structure_are_counted_apart() -> None:
    found = [pair(cost(vector=2.0), cost(vector=1.0)), pair(cost(load=5.0), cost(load=5.0), made=False)]
    doc = directions_doc("ascend950", found, "zh")
    assert (doc.n, doc.right, doc.fits, doc.made, doc.made_right, doc.made_fits) == (2, 1, 1, 1, 1, 1)
    assert {case.basis for case in doc.cases} == {"predicted"}
    assert "目录" in doc.cases[1].reason


def test_each_symptom_of_the_catalogue_has_its_limiters() -> None:
    assert {symptom.id for symptom in SYMPTOMS if not symptom.limiters} == {"ub_overflow"}
    assert frozenset().union(*(symptom.limiters for symptom in SYMPTOMS)) <= set(TERMS)


def test_timings_and_pairs_are_two_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "cost"]) == 2
    assert "--pairs" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.toolchain
def test_nine_in_ten_pairs_are_predicted_as_the_catalogue_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "cost", "--pairs", str(PAIRS), "--target", "ascend910b3,ascend950", "--json"]) == 0
    for found in json.loads(capsys.readouterr().out)["targets"]:
        assert found["made_fits"] >= 0.9 * found["made"], found["target"]
        assert not [c for c in found["cases"] if not c["fits"] and c["reason"] in {"", "not explained"}]

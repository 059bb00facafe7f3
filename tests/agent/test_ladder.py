"""The ladder's policy, as data."""

import dataclasses
from pathlib import Path

import pytest

from agent.ladder import Step, dominant, escalations, is_explained, rungs_up_to
from agent.records import RUNGS, Counterfactual, Finding, Structure
from indexer.messages import message


def a_finding(severity: float, line: int) -> Finding:
    seen = Structure("s", line, (), "", "", None, None)
    note = message("ladder.start")
    open_one = Counterfactual(note, "open")
    return Finding("s", note, note, note, severity, "rejected", Path("k.py"), line, "", seen, open_one)


def test_rungs_are_climbed_from_patterns_to_sources() -> None:
    assert RUNGS == ("pattern", "profile", "ir", "source")
    assert rungs_up_to("ir") == RUNGS[:3]


@pytest.mark.parametrize(("shares", "found"), [((0.3, 0.6), 0.6), ((0.3, 0.4), None), ((), None)])
def test_a_cause_dominates_from_half_of_the_cost_on(shares: tuple[float, ...], found: float | None) -> None:
    worst = dominant([a_finding(share, 1) for share in shares])
    assert (worst.severity if worst else None) == found


def test_two_findings_on_one_line_explain_it_once() -> None:
    assert not is_explained([a_finding(0.5, 7), a_finding(0.5, 7)])
    assert is_explained([a_finding(0.5, 7), a_finding(0.4, 9)])


def test_findings_of_different_launches_add_up() -> None:
    second = dataclasses.replace(a_finding(0.5, 7), launch_index=1)
    assert is_explained([a_finding(0.5, 7), second])


def test_an_escalation_carries_the_reason_of_the_rung_it_enters() -> None:
    why = message("ladder.ir")
    steps = [
        Step("pattern", entered=True, reason=message("ladder.start"), localized=False),
        Step("profile", entered=False, reason=message("ladder.explained"), localized=False),
        Step("ir", entered=True, reason=why, localized=True),
    ]
    assert [(e.origin, e.to, e.reason) for e in escalations(steps)] == [("pattern", "ir", why)]

"""The ladder's policy, as data."""

import dataclasses
from pathlib import Path

import pytest

from agent.ladder import (
    EMPTY_ROUNDS,
    ENTRY,
    LADDERS,
    PLATEAU_ROUNDS,
    ROUNDS,
    Past,
    Standing,
    Step,
    dominant,
    enter_at,
    entry,
    escalations,
    is_explained,
    limited,
    rungs_up_to,
    stops,
)
from agent.records import RUNGS, Counterfactual, Finding, Rung, Structure
from indexer.messages import Message, message, render


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


# --- the policy of rounds -----------------------------------------------------------------------------------------


def standing(*, first: bool = False, changed: bool = False, offers: tuple[Rung, ...] = ()) -> Standing:
    return Standing(first, changed, frozenset(offers))


@pytest.mark.parametrize(
    ("now", "rung", "reason"),
    [
        (standing(first=True, changed=True, offers=("ir",)), "pattern", "ladder.start"),
        (standing(changed=True, offers=("ir",)), "pattern", "ladder.entry_changed"),
        (standing(offers=("ir", "pattern")), "pattern", "ladder.entry_pattern"),
        (standing(offers=("ir", "profile")), "profile", "ladder.entry_profile"),
        (standing(offers=("ir",)), "ir", "ladder.entry_ir"),
        (standing(), "ir", "ladder.entry_spent"),
    ],
)
def test_a_round_enters_at_the_shallowest_rung_that_can_justify_the_next_move(
    now: Standing, rung: Rung, reason: str
) -> None:
    assert (entry(now).rung, entry(now).reason) == (rung, reason)


def test_every_entry_has_a_reason_that_can_be_read_and_the_last_rule_always_holds() -> None:
    assert all(render(message(rule.reason), lang) for rule in ENTRY for lang in ("en", "zh"))
    assert ENTRY[-1].holds(standing())


def a_climb(*entered: Rung) -> tuple[Step, ...]:
    why: Message = message("ladder.ir")
    return tuple(Step(rung, entered=rung in entered, reason=why, localized=False) for rung in RUNGS)


def test_a_round_that_enters_deeper_says_why_and_what_it_leaves_out() -> None:
    rule = entry(standing(offers=("ir",)))
    steps = enter_at(a_climb(*RUNGS), rule)
    assert [(s.rung, s.entered) for s in steps] == [
        ("pattern", False), ("profile", False), ("ir", True), ("source", True),
    ]  # fmt: skip
    assert steps[0].reason.key == "ladder.read_before"
    assert steps[2].reason.key == rule.reason


def test_a_climb_that_ended_early_is_entered_at_its_deepest_rung() -> None:
    steps = enter_at(a_climb("pattern", "profile"), entry(standing()))
    assert [s.rung for s in steps if s.entered] == ["profile"]
    assert enter_at(a_climb(), entry(standing())) == a_climb()


def test_the_source_is_entered_in_the_round_of_the_ir_whichever_way_a_round_begins() -> None:
    for rule in ENTRY:
        entered = [s.rung for s in enter_at(a_climb(*RUNGS), rule) if s.entered]
        assert entered[-2:] == ["ir", "source"], rule.reason


def test_the_deepest_rung_is_reached_in_the_default_budget_before_any_plateau() -> None:
    """Whatever fails: with nothing kept, the rounds before a stop have been at the IR and the source."""
    rounds: list[Past] = []
    while len(rounds) < ROUNDS and stops(rounds) is None:
        steps = enter_at(a_climb(*RUNGS), entry(standing(first=not rounds)))
        rounds.append(Past(100.0, kept=False, deepest=any(s.rung == "source" and s.entered for s in steps)))
    assert ROUNDS == 12
    assert len(rounds) == PLATEAU_ROUNDS
    assert rounds[0].deepest


@pytest.mark.parametrize(
    ("rounds", "why"),
    [
        ([Past(100.0, kept=False, deepest=True)] * 3, "plateau"),
        ([Past(100.0, kept=False, deepest=False)] * 3, None),
        ([Past(100.0, kept=False, deepest=True)] * 2, None),
        ([Past(100.0, kept=False, deepest=True)] * 2 + [Past(98.0, kept=True, deepest=True)], None),
        (
            [
                Past(100.0, kept=False, deepest=True),
                Past(101.0, kept=False, deepest=True),
                Past(103.0, kept=False, deepest=True),
            ],
            None,
        ),
        ([Past(None, kept=False, deepest=True)] * 3, None),
        ([Past(None, kept=False, deepest=True, empty=True)] * EMPTY_ROUNDS, "no rewrite left"),
        ([Past(None, kept=False, deepest=True, empty=True), Past(9.0, kept=False, deepest=True)], None),
        ([Past(None, kept=False, deepest=True, empty=True, given_up=True)], "no rewrite left"),
        ([], None),
    ],
)
def test_a_run_stops_on_a_plateau_only_after_the_deepest_rung(rounds: list[Past], why: str | None) -> None:
    assert stops(rounds) == why


def test_a_ladder_leaves_its_rungs_out_and_says_so() -> None:
    assert LADDERS["full"] == frozenset(RUNGS)
    assert LADDERS["framing-only"] == frozenset()
    for ladder, rungs in LADDERS.items():
        steps = limited(a_climb(*RUNGS), ladder)
        assert {s.rung for s in steps if s.entered} == rungs
        assert all(s.reason.key == "ladder.left_out" for s in steps if not s.entered)

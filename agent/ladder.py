"""The ladder as data: rungs in order, what a rung must explain, where a round enters, when a run stops.

At each rung the question is whether it has localised one dominant cause, not whether the kernel is still slow
(design, section 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from agent.records import RUNGS, Finding, Rung
from indexer.messages import Message, message

# One cause dominates when it holds at least this share of the cost: no other single cause can be larger.
DOMINANT_SHARE = 0.5
# Climbing goes on until the findings together explain this share; the rest is spread over causes too small to act on.
EXPLAINED_SHARE = 0.8

# Rounds of a run.
ROUNDS = 12
# So many comparable rounds in a row that moved the cost by less than this share are a plateau (design, section 8).
PLATEAU_ROUNDS = 3
PLATEAU_SHARE = 0.02
# After so many rounds in a row for which nobody proposed anything there is nothing left.
EMPTY_ROUNDS = 2

Ladder = Literal["full", "no-source", "no-ir", "no-profile", "pattern-only", "framing-only"]
# The rungs whose evidence a run may use: what each is worth shows when it is left out. `framing-only` has the kernel
# and the words of the prompt, and no evidence at all.
LADDERS: Mapping[Ladder, frozenset[Rung]] = {
    "full": frozenset(RUNGS),
    "no-source": frozenset({"pattern", "profile", "ir"}),
    "no-ir": frozenset({"pattern", "profile", "source"}),
    "no-profile": frozenset({"pattern", "ir", "source"}),
    "pattern-only": frozenset({"pattern"}),
    "framing-only": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One rung: entered or not, the reason, and whether it localised one dominant cause."""

    rung: Rung
    entered: bool
    reason: Message
    localized: bool


@dataclass(frozen=True, slots=True)
class Escalation:
    """A step from a rung to a deeper one, with the reason."""

    origin: Rung
    to: Rung
    reason: Message


def rungs_up_to(last: Rung) -> tuple[Rung, ...]:
    """Return the rungs from the shallowest to `last`."""
    return RUNGS[: RUNGS.index(last) + 1]


def dominant(findings: Iterable[Finding]) -> Finding | None:
    """Return the finding that dominates the cost, if one does."""
    worst = max(findings, key=lambda f: f.severity, default=None)
    return worst if worst is not None and worst.severity >= DOMINANT_SHARE else None


def is_explained(findings: Iterable[Finding]) -> bool:
    """Return whether the findings together hold enough of the cost to stop climbing.

    Shares may overlap (two causes on one line), so their sum is an upper bound; the cap keeps one line from counting
    twice.
    """
    by_line: dict[tuple[int, int | None], float] = {}
    for found in findings:
        where = (found.launch_index, found.line)
        by_line[where] = max(by_line.get(where, 0.0), found.severity)
    return sum(by_line.values()) >= EXPLAINED_SHARE


def not_entered(rung: Rung, key: str) -> Step:
    """Record a rung that was not needed or not allowed."""
    return Step(rung, entered=False, reason=message(key), localized=False)


def escalations(steps: Iterable[Step]) -> tuple[Escalation, ...]:
    """Return the escalations that a climb made: each entered rung after the first, with the reason for entering."""
    entered = [step for step in steps if step.entered]
    return tuple(Escalation(a.rung, b.rung, b.reason) for a, b in pairwise(entered))


# --- where a round enters -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known when a round begins.

    `first`: no round was before. `changed`: the best kernel is another than at the last climb. `offers` are the rungs
    whose findings have a rewrite that was neither tried nor refuted.
    """

    first: bool
    changed: bool
    offers: frozenset[Rung]


@dataclass(frozen=True, slots=True)
class EntryRule:
    """A reason to enter at a rung; the first rule that holds decides."""

    reason: str
    rung: Rung
    holds: Callable[[Standing], bool]


# The shallowest rung that can justify the next move: a kernel not yet read is read from the top; one that was read is
# entered where something is left to try; where nothing is, only the IR can say more, and the source with it.
ENTRY: tuple[EntryRule, ...] = (
    EntryRule("ladder.start", "pattern", lambda now: now.first),
    EntryRule("ladder.entry_changed", "pattern", lambda now: now.changed),
    EntryRule("ladder.entry_pattern", "pattern", lambda now: "pattern" in now.offers),
    EntryRule("ladder.entry_profile", "profile", lambda now: "profile" in now.offers),
    EntryRule("ladder.entry_ir", "ir", lambda now: "ir" in now.offers),
    EntryRule("ladder.entry_spent", "ir", lambda _now: True),
)


def entry(now: Standing) -> EntryRule:
    """Return the rule that says where a round enters."""
    return next(rule for rule in ENTRY if rule.holds(now))


def enter_at(steps: Sequence[Step], rule: EntryRule) -> tuple[Step, ...]:
    """Return a climb as one that enters at the rule's rung: shallower ones were read in an earlier round.

    A climb that never came to that rung is entered at its deepest one.
    """
    entered = [step.rung for step in steps if step.entered]
    if not entered:
        return tuple(steps)
    at = min(RUNGS.index(rule.rung), max(map(RUNGS.index, entered)))
    first = next(rung for rung in entered if RUNGS.index(rung) >= at)
    return tuple(_entered_at(step, first, rule) for step in steps)


def _entered_at(step: Step, first: Rung, rule: EntryRule) -> Step:
    if RUNGS.index(step.rung) < RUNGS.index(first):
        return not_entered(step.rung, "ladder.read_before") if step.entered else step
    return replace(step, reason=message(rule.reason)) if step.rung == first else step


def limited(steps: Sequence[Step], ladder: Ladder) -> tuple[Step, ...]:
    """Return a climb without the rungs that a ladder leaves out."""
    allowed = LADDERS[ladder]
    return tuple(step if step.rung in allowed else not_entered(step.rung, "ladder.left_out") for step in steps)


# --- when a run stops ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Past:
    """What the stop rules look at of a round: its cost (None: nothing could be costed), and how deep it went.

    `deepest` says that it went as deep as rungs are to be had; `empty` that nobody proposed anything, `given_up` that
    the model, with the rules at their end, said that nothing is left.
    """

    cost: float | None
    kept: bool
    deepest: bool
    empty: bool = False
    given_up: bool = False


def stops(rounds: Sequence[Past]) -> str | None:
    """Return why a run should not go on, None where it should."""
    idle = rounds[-EMPTY_ROUNDS:]
    if (rounds and rounds[-1].given_up) or (len(idle) == EMPTY_ROUNDS and all(r.empty for r in idle)):
        return "no rewrite left"
    return "plateau" if is_plateau(rounds) else None


def is_plateau(rounds: Sequence[Past]) -> bool:
    """Return whether the last rounds were comparable, moved nothing, and the deepest rung to be had was tried."""
    last = rounds[-PLATEAU_ROUNDS:]
    costs = [r.cost for r in last if r.cost is not None]
    if len(costs) < PLATEAU_ROUNDS or any(r.kept for r in last):
        return False
    return max(costs) / min(costs) - 1 <= PLATEAU_SHARE and any(r.deepest for r in last)

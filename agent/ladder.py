"""The ladder as data: rungs in order, what a rung must explain, and the record of having climbed it.

At each rung the question is whether it has localised one dominant cause, not whether the kernel is still slow
(design, section 8).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from agent.records import RUNGS, Finding, Rung
from indexer.messages import Message, message

# One cause dominates when it holds at least this share of the cost: no other single cause can be larger.
DOMINANT_SHARE = 0.5
# Climbing goes on until the findings together explain this share; the rest is spread over causes too small to act on.
EXPLAINED_SHARE = 0.8


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

"""The order of an exact answer: what defines a thing, what implements it, then its options, patterns, documents, tests.

A thing may have hundreds of tests, so the groups take turns: the first screen shows something of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from indexer.records import Kind, Relation

# How many of a group stand in each turn, in the order of the groups.
_TURN: dict[Relation, int] = {
    "defines": 2, "implements": 2, "option_of": 1, "lowers": 1, "makes": 1, "tests": 1, "documents": 1, "uses": 1,
}  # fmt: skip
_GROUPS = tuple(_TURN)
# Inside a group: the sources' own words before what a compiler prints of them, a pass's entry before its patterns.
_KINDS: tuple[Kind, ...] = ("pass_def", "op_def", "option", "pass_impl", "pattern", "code", "doc", "note")


@dataclass(frozen=True, slots=True)
class Found:
    """A row that a name stands in."""

    row: int
    relation: Relation
    kind: Kind


def in_turn(found: Sequence[Found]) -> list[Found]:
    """Return the rows in the order they are shown."""
    taken: Counter[Relation] = Counter()
    placed = []
    for item in sorted(found, key=lambda f: (_GROUPS.index(f.relation), _kind(f.kind), f.row)):
        turn = taken[item.relation] // _TURN[item.relation]
        taken[item.relation] += 1
        placed.append((turn, item))
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def _kind(kind: Kind) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)

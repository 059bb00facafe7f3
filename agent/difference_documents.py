"""`tritonkb index diff` in the JSON contract (design, section 7)."""

from __future__ import annotations

from collections.abc import Sequence

from agent.contract import Doc
from agent.difference import Difference, Expired
from indexer.difference import Changes, PassageChange, Thing


class PassageChangeDoc(Doc):
    """A passage that is other than it was: its ids, and the first and last of each range of lines that differ."""

    relation: str
    old: str | None
    new: str | None
    old_lines: list[tuple[int, int]]
    new_lines: list[tuple[int, int]]


class ThingDoc(Doc):
    """A pass, operation or option with its passages that differ."""

    name: str
    passages: list[PassageChangeDoc]


class ChangesDoc(Doc):
    """What became of all things of one sort."""

    added: list[ThingDoc]
    removed: list[ThingDoc]
    changed: list[ThingDoc]


class ExpiredDoc(Doc):
    """Evidence of a run or a note that no longer is what was cited."""

    run: str
    passage: str
    change: str
    now: str | None
    lines: list[tuple[int, int]]


class DifferenceDoc(Doc):
    """`tritonkb index diff`."""

    corpus: str
    old: str
    new: str
    passes: ChangesDoc
    ops: ChangesDoc
    options: ChangesDoc
    expired_evidence: list[ExpiredDoc]
    moved_evidence: list[ExpiredDoc]
    unreadable_runs: list[str]


def difference_doc(found: Difference) -> DifferenceDoc:
    """Return the document of a comparison."""
    return DifferenceDoc(
        corpus=found.corpus, old=found.old, new=found.new, passes=_changes(found.passes), ops=_changes(found.ops),
        options=_changes(found.options), expired_evidence=_expired(found.expired), moved_evidence=_expired(found.moved),
        unreadable_runs=[str(path) for path in found.unreadable],
    )  # fmt: skip


def _changes(changes: Changes) -> ChangesDoc:
    return ChangesDoc(
        added=[_thing(t) for t in changes.added], removed=[_thing(t) for t in changes.removed],
        changed=[_thing(t) for t in changes.changed],
    )  # fmt: skip


def _thing(thing: Thing) -> ThingDoc:
    return ThingDoc(name=thing.name, passages=[_passage(change) for change in thing.changes])


def _passage(change: PassageChange) -> PassageChangeDoc:
    return PassageChangeDoc(
        relation=change.relation, old=change.old.id if change.old else None, new=change.new.id if change.new else None,
        old_lines=list(change.old_lines), new_lines=list(change.new_lines),
    )  # fmt: skip


def _expired(found: Sequence[Expired]) -> list[ExpiredDoc]:
    return [ExpiredDoc(run=e.run, passage=e.passage, change=e.change, now=e.now, lines=list(e.lines)) for e in found]

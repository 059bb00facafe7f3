"""Exact answers: what defines a thing, what implements it, then its options, patterns, tests, documents, uses.

A thing may have hundreds of tests, so the groups take turns: the first screen shows something of each.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from indexer.diagnostics import Templates, operations_of
from indexer.graph.options import option_name
from indexer.records import Kind, Relation, Sort
from indexer.store import Generation
from indexer.words import split_identifier
from retriever.query import Named, Vocabulary

# Row: its value, and why it is there.
Exact = dict[int, tuple[float, tuple[str, ...]]]
NEAR_NAMES = 5
# So like must two names be for one to be misspelt for the other: two letters swapped, or one more, in a name of ten.
SLIP = 0.88
MAX_SHOWN_NAME = 80  # characters: a pasted diagnostic has no end

# What counts most in a ranking.
_RELATIONS: tuple[Relation, ...] = (
    "defines", "implements", "documents", "option_of", "lowers", "makes", "tests", "uses",
)  # fmt: skip
# How many of a group stand in each turn, in the order of the groups.
_TURN: dict[Relation, int] = {
    "defines": 2, "implements": 2, "option_of": 1, "lowers": 1, "makes": 1, "tests": 1, "documents": 1, "uses": 1,
}  # fmt: skip
_GROUPS = tuple(_TURN)
# A document or an option that is called like the thing is about it; the others name it in passing.
_BY_TITLE: frozenset[Relation] = frozenset({"documents", "option_of"})
# Inside a group: the sources' own words before what a compiler prints of them, a pass's entry before its patterns.
_KINDS: tuple[Kind, ...] = ("pass_def", "op_def", "option", "pass_impl", "pattern", "code", "doc", "note")


@dataclass(frozen=True, slots=True)
class Found:
    """A row that a name stands in; `shared` counts the words that its title has of the name."""

    row: int
    relation: Relation
    kind: Kind
    shared: int = 0


class Lookup:
    """Finds rows by the names that stand in them."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self.vocabulary = Vocabulary(generation.shelf)

    @property
    def diagnostics(self) -> Templates:
        """Return the messages that the indexed sources can emit."""
        return self.vocabulary.diagnostics

    def exact(self, named: Iterable[Named], allowed: npt.NDArray[np.bool_] | None) -> Exact:
        """Return the rows of named things, with a value from 1 (defines it) down, in the order they are shown."""
        best: dict[int, Relation] = {}
        reasons: dict[int, tuple[str, ...]] = {}
        names = [known for thing in named for known in self._known(thing)]
        for thing in names:
            for row, relation in self._rows_of(thing):
                if allowed is None or allowed[row]:
                    best[row] = min(best.get(row, relation), relation, key=_RELATIONS.index)
                    reasons[row] = (*reasons.get(row, ()), f"{relation} {thing.sort} {_short(thing.name)}")
        found = in_turn(self._found(best, names))
        return {f.row: (1.0 - _RELATIONS.index(f.relation) / len(_RELATIONS), reasons[f.row]) for f in found}

    def near(self, name: str, sort: Sort) -> list[str]:
        """Return known names like `name`; a class or an option of Python is taken for the flag it becomes."""
        if sort == "diagnostic":
            return self.diagnostics.near(name, NEAR_NAMES)
        known = self.generation.shelf.names(sort)
        flag = name if sort in {"op", "symbol"} else option_name(name) or name
        inside = sorted((n for n in known if name in n or flag in n), key=len)
        return list(dict.fromkeys([*inside, *difflib.get_close_matches(flag, known, NEAR_NAMES, 0.5)]))[:NEAR_NAMES]

    def slips(self, name: str) -> list[str]:
        """Return the passes, options and operations that `name` may be misspelt for; none where all are unlike it."""
        sorts: tuple[Sort, ...] = ("pass", "option", "op")
        near = dict.fromkeys(known for sort in sorts for known in self.near(name, sort))
        return [known for known in near if difflib.SequenceMatcher(None, _flat(name), _flat(known)).ratio() >= SLIP]

    def _known(self, thing: Named) -> list[Named]:
        """Return what a pasted diagnostic is an instance of; without that, the operation whose verifier says it."""
        if thing.sort != "diagnostic":
            return [thing]
        texts = [Named(text, "diagnostic") for text in self.diagnostics.find(thing.name)]
        return texts or [Named(name, "op") for name in operations_of(thing.name)]

    def _rows_of(self, thing: Named) -> list[tuple[int, Relation]]:
        shelf = self.generation.shelf
        if thing.sort == "file":
            return [(row, "defines") for row in shelf.paths_ending(thing.name)]
        if thing.sort == "place":
            path, _, line = thing.name.rpartition(":")
            rows = shelf.rows(shelf.paths_ending(path))
            return [(r.row, "defines") for r in rows if r.passage.start_line <= int(line) <= r.passage.end_line]
        return shelf.named(thing.name, thing.sort)  # type: ignore[arg-type]

    def _found(self, best: dict[int, Relation], names: Sequence[Named]) -> list[Found]:
        kinds, columns = self.generation.manifest.kinds, self.generation.columns["kind"]
        titled = self.generation.shelf.rows([row for row, relation in best.items() if relation in _BY_TITLE])
        asked = {word for thing in names for word in split_identifier(thing.name)}
        shared = {r.row: len(asked.intersection(split_identifier(r.passage.symbol))) for r in titled}
        return [Found(row, what, cast("Kind", kinds[columns[row]]), shared.get(row, 0)) for row, what in best.items()]


def in_turn(found: Sequence[Found]) -> list[Found]:
    """Return the rows in the order they are shown."""
    taken: Counter[Relation] = Counter()
    placed = []
    for item in sorted(found, key=lambda f: (_GROUPS.index(f.relation), -f.shared, _kind(f.kind), f.row)):
        turn = taken[item.relation] // _TURN[item.relation]
        taken[item.relation] += 1
        placed.append((turn, item))
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def _kind(kind: Kind) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _flat(name: str) -> str:
    return name.lower().replace("_", "-")


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= MAX_SHOWN_NAME else f"{line[: MAX_SHOWN_NAME - 1]}…"

"""What a knowledge card claims, and the passages its claims cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from indexer.records import Passage
from indexer.shelf import Row
from indexer.store import Generation

_CITATION = re.compile(
    r"(?P<corpus>[\w.-]+)@(?P<commit>[0-9a-f]{7,40}):(?P<path>[^\s`#]+)#L(?P<first>\d+)(?:-L?(?P<last>\d+))?"
)
_QUOTED = re.compile(r"`([^`\s]+)`")
_IDENTIFIER = re.compile(r"^[A-Za-z_][\w:]*$")
_BULLET = re.compile(r"\n(?=[-*] )")


@dataclass(frozen=True, slots=True)
class Cited:
    """A row that a card cites, how surely (1: the very commit), and why."""

    row: int
    value: float
    why: str


def cited_by(generation: Generation, note: Passage) -> Iterator[Cited]:
    """Yield the passages behind each claim of a card.

    At the commit that the card names, these are the passages of its lines. At another one, lines have moved: there it
    is the passage of the same file that holds most of the identifiers that the claim names.
    """
    commits = {mark.name: mark.commit for mark in generation.manifest.corpora}
    for claim in _BULLET.split(note.text):
        identifiers = [name for name in _QUOTED.findall(claim) if _IDENTIFIER.match(name) and len(name) > 3]
        for found in _CITATION.finditer(claim):
            corpus, path = found["corpus"], found["path"]
            first, last = int(found["first"]), int(found["last"] or found["first"])
            same = commits.get(corpus, "").startswith(found["commit"][:12])
            if same:
                rows = generation.shelf.by_place(corpus, path, first, last)
                yield from (Cited(r.row, _overlap(r.passage, first, last), f"cited by {note.path}") for r in rows)
            elif corpus in commits:
                moved = _holding(generation.shelf.by_place(corpus, path, 1, 1 << 30), identifiers, first)
                if moved is not None:
                    yield Cited(moved.row, 0.8, f"{note.path} cites this code at {found['commit'][:12]}")


def _overlap(passage: Passage, first: int, last: int) -> float:
    """Return 1 for the passage that holds all the lines, less for one that holds a few of them."""
    common = min(last, passage.end_line) - max(first, passage.start_line) + 1
    return 0.5 + 0.5 * common / (last - first + 1)


def _holding(rows: list[Row], identifiers: list[str], line: int) -> Row | None:
    """Return the passage with most of the identifiers, the nearest to the old line among equals."""
    counted = [(sum(name in row.passage.text for name in identifiers), row) for row in rows]
    held = [(count, row) for count, row in counted if count]
    return max(held, key=lambda pair: (pair[0], -abs(pair[1].passage.start_line - line)))[1] if held else None

"""What a knowledge card claims, and the passages its claims cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from indexer.records import Passage
from indexer.shelf import Row, Shelf
from indexer.store import Generation

_CITATION = re.compile(
    r"(?P<corpus>[\w.-]+)@(?P<commit>[0-9a-f]{7,40}):(?P<path>[^\s`#]+)#L(?P<first>\d+)(?:-L?(?P<last>\d+))?"
)
_QUOTED = re.compile(r"`([^`\s]+)`")
_IDENTIFIER = re.compile(r"^[A-Za-z_][\w:]*$")
_SEPARATOR = re.compile(r"::|[\s,.]+")
# Code moves less between commits than two functions of a file are apart: so many lines weigh as much as one name.
LINES_PER_NAME = 150

_BULLET = re.compile(r"\n(?=[-*] )")


@dataclass(frozen=True, slots=True)
class Cited:
    """A row that a card cites, how surely (1: the very commit), and why."""

    row: int
    value: float
    why: str


def cited_by(generation: Generation, note: Passage) -> Iterator[Cited]:
    """Yield the passages behind each claim of a card.

    At the commit that the card names, these are the passages of its lines. At another one, lines and folders have
    moved: there it is the passage of the file of that name that best fits the identifiers of the claim.
    """
    commits = {mark.name: mark.commit for mark in generation.manifest.corpora}
    for claim in _BULLET.split(note.text):
        identifiers = {name for name in _QUOTED.findall(claim) if _IDENTIFIER.match(name) and len(name) > 3}
        for found in _CITATION.finditer(claim):
            corpus, path = found["corpus"], found["path"]
            first, last = int(found["first"]), int(found["last"] or found["first"])
            if commits.get(corpus, "").startswith(found["commit"][:12]):
                rows = generation.shelf.by_place(corpus, path, first, last)
                yield from (Cited(r.row, _overlap(r.passage, first, last), f"cited by {note.path}") for r in rows)
            elif corpus in commits:
                moved = _fitting(_file_now(generation.shelf, corpus, path), identifiers, first)
                if moved is not None:
                    yield Cited(moved.row, 0.8, f"{note.path} cites this code at {found['commit'][:12]}")


def _overlap(passage: Passage, first: int, last: int) -> float:
    """Return 1 for the passage that holds all the lines, less for one that holds a few of them."""
    common = min(last, passage.end_line) - max(first, passage.start_line) + 1
    return 0.5 + 0.5 * common / (last - first + 1)


def _file_now(shelf: Shelf, corpus: str, path: str) -> list[Row]:
    """Return the passages of a file, or of those of its name where the folder is another one now."""
    rows = shelf.by_place(corpus, path, 1, 1 << 30)
    named = [] if rows else shelf.rows(shelf.paths_ending(path.rpartition("/")[2]))
    return rows or [row for row in named if row.passage.corpus == corpus]


def _fitting(rows: list[Row], identifiers: set[str], line: int) -> Row | None:
    """Return the passage that defines or holds most of the identifiers, the nearest to the old line among equals."""

    def held(passage: Passage) -> int:
        defined = sum(name in _SEPARATOR.split(passage.symbol) for name in identifiers)
        return 2 * defined + sum(name in passage.text for name in identifiers)

    fits = [(held(row.passage) - abs(row.passage.start_line - line) / LINES_PER_NAME, row) for row in rows]
    found = [(fit, row) for fit, row in fits if held(row.passage)]
    return max(found, key=lambda pair: pair[0])[1] if found else None

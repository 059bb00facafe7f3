"""Texts of any size cut to what a page can hold; what is left out is counted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Sort = Literal["", "add", "del", "hunk"]

_VALUE = re.compile(r"%[\w$.#:-]+")

# About four screens; a run of twelve rounds over very large kernels stays under 3 MB so.
MOST_LINES = 160
# A line of IR with a long type list is some hundred characters; longer ones are tables of constants.
MOST_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an excerpt: its text, cut, and what a diff makes of it."""

    text: str
    sort: Sort = ""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines that are shown, and how many more there were."""

    lines: tuple[Line, ...]
    left_out: int = 0


def excerpt(text: str) -> Excerpt:
    """Cut a text."""
    return _cut(map(Line, _lines(text)))


def diff_excerpt(text: str) -> Excerpt:
    """Cut a unified diff and mark its lines; the two lines that name its files are left away."""
    return _cut(_marked(_lines(text)))


def difference(before: str, after: str) -> Excerpt:
    """Compare two texts as a unified diff, cut."""
    return _cut(_marked(difflib.unified_diff(_lines(before), _lines(after), lineterm="")))


def beside(before: str, after: str) -> tuple[Excerpt, Excerpt]:
    """Cut two texts of IR; lines that the other has not, whatever its values are called, are marked."""
    one, other = excerpt(before), excerpt(after)
    left, right = [line.text for line in one.lines], [line.text for line in other.lines]
    if not left or not right:
        return one, other
    alike = difflib.SequenceMatcher(None, [*map(_nameless, left)], [*map(_nameless, right)], autojunk=False)
    first, second = [Line(text, "del") for text in left], [Line(text, "add") for text in right]
    for block in alike.get_matching_blocks():
        first[block.a : block.a + block.size] = map(Line, left[block.a : block.a + block.size])
        second[block.b : block.b + block.size] = map(Line, right[block.b : block.b + block.size])
    return Excerpt(tuple(first), one.left_out), Excerpt(tuple(second), other.left_out)


def _lines(text: str) -> list[str]:
    """Split at line feeds only: the other signs that Python splits at may stand inside a line of a file."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _nameless(line: str) -> str:
    """Write a line of IR with every value called the same: passes number values anew."""
    return _VALUE.sub("%", line)


def _marked(lines: Iterable[str]) -> Iterator[Line]:
    sorts: dict[str, Sort] = {"+": "add", "-": "del", "@": "hunk"}
    for number, line in enumerate(lines):
        if number > 1 or not line.startswith(("---", "+++")):
            yield Line(line, sorts.get(line[:1], ""))


def _cut(lines: Iterable[Line]) -> Excerpt:
    every = list(lines)
    shown = tuple(Line(_short(line.text), line.sort) for line in every[:MOST_LINES])
    return Excerpt(shown, len(every) - len(shown))


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"

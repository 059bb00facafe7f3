"""What every grammar gives: the definitions of a file as line ranges, and the natural language of each line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from indexer.records import Kind, Language

# Why a file was not cut by its grammar: its definitions were found by matching braces, or not at all.
Fallback = Literal["", "braces", "windows"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One definition: lines `start..end` (1-based, inclusive), named `symbol`.

    Units may nest; a line belongs to the innermost one that holds it. Only an `open` unit (a class too long to stay
    whole) gives lines to others, besides options, which always stand for themselves.
    `cuts` are lines at which a part may begin when the unit is too long (statement borders), `inner_cuts` those of
    deeper statements, taken where no outer one is near. `context` is what every part lacks: the headings above, the
    passes of a RUN line; `signature` what each part but the first lacks, `inherited`
    what definitions elsewhere say of this one. A unit that is `alone` is never merged with a
    neighbour; others of the same `scope` are, when both are short.
    """

    start: int
    end: int
    kind: Kind
    symbol: str = ""
    scope: str = ""
    context: str = ""
    signature: str = ""
    cuts: tuple[int, ...] = ()
    inner_cuts: tuple[int, ...] = ()
    inherited: str = ""
    alone: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a file, and per line its natural language ("" where it is only code)."""

    units: tuple[Unit, ...]
    prose: tuple[str, ...]
    fallback: Fallback = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language: how a file of it is outlined, and what kind its unnamed parts are."""

    language: Language
    default: Kind
    outline: Callable[[str, str], Outline]
    # A line that matches belongs to the definition below it (comments, attributes, decorators).
    leading: re.Pattern[str] = field(default=re.compile(r"(?!)"))


def split_lines(text: str) -> list[str]:
    """Split at newlines only, as an editor counts lines; a final newline ends the last line and opens none."""
    lines = text.split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def line_at(text: str, offset: int) -> int:
    """Return the 1-based line of a character offset."""
    return text.count("\n", 0, offset) + 1


class ProseLines:
    """Collects the natural language of a file line by line."""

    def __init__(self, text: str) -> None:
        self._lines: list[list[str]] = [[] for _ in split_lines(text)]

    def add(self, line: int, words: str) -> None:
        """Add `words`, which may span lines, from the 1-based `line` on."""
        for number, part in enumerate(words.split("\n"), line - 1):
            cleaned = part.strip()
            if cleaned and number < len(self._lines):
                self._lines[number].append(cleaned)

    def freeze(self) -> tuple[str, ...]:
        """Return one string a line."""
        return tuple(" ".join(parts) for parts in self._lines)

"""Plain text: catalogue entries made from a compiler's `--help`, and any text without a better grammar."""

from __future__ import annotations

import re

from indexer.grammar.base import Grammar, Outline, Unit, split_lines

_ENTRY = re.compile(r"^(?P<sort>pass|option|dialects) (?P<name>\S+)")


def outline_catalogue(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one catalogue entry: the file is the unit, named on its first line (`pass NAME`, `option NAME`)."""
    lines = split_lines(text)
    found = _ENTRY.match(text)
    if not found:
        return Outline((), tuple(lines))
    kind = {"pass": "catalog", "option": "option", "dialects": "dialect"}[found["sort"]]
    unit = Unit(1, len(lines), kind, found["name"], context=found["name"], alone=True)  # type: ignore[arg-type]
    return Outline((unit,), tuple(lines))


def outline_text(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Give up at once: the file is cut into windows, and all of it is prose."""
    return Outline((), tuple(split_lines(text)))


CATALOGUE = Grammar("text", "catalog", outline_catalogue)
TEXT = Grammar("text", "doc", outline_text)

"""Plain text: catalogue entries made from a compiler's `--help`, build files, and any text without a better grammar."""

from __future__ import annotations

import re

from indexer.grammar.base import Grammar, Outline, ProseLines, Unit, split_lines
from indexer.grammar.cfamily import clean_line, rights_of

_ENTRY = re.compile(r"^(?P<sort>pass|option|dialects) (?P<name>\S+)")
_BUILD_FILE = re.compile(r"(^|/)CMakeLists\.txt$")


def outline_catalogue(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one catalogue entry: the file is the unit, named on its first line (`pass NAME`, `option NAME`)."""
    lines = split_lines(text)
    found = _ENTRY.match(text)
    if not found:
        return Outline((), tuple(lines))
    kind = {"pass": "catalog", "option": "option", "dialects": "dialect"}[found["sort"]]
    unit = Unit(1, len(lines), kind, found["name"], context=found["name"], alone=True)  # type: ignore[arg-type]
    return Outline((unit,), tuple(lines))


def outline_text(path: str, text: str) -> Outline:
    """Cut at empty lines; all of a text is prose, of a build file its comments."""
    lines = split_lines(text)
    cuts = tuple(n for n in range(2, len(lines) + 1) if not lines[n - 2].strip())
    if not _BUILD_FILE.search(path):
        return Outline((Unit(1, len(lines), "doc", cuts=cuts),), tuple(lines))
    prose, rights = ProseLines(text), rights_of(text)
    for number, line in enumerate(lines, 1):
        if number not in rights and line.lstrip().startswith("#"):
            prose.add(number, clean_line(line.lstrip("# \t")))
    return Outline((Unit(1, len(lines), "code", cuts=cuts),), prose.freeze())


CATALOGUE = Grammar("text", "catalog", outline_catalogue)
TEXT = Grammar("text", "doc", outline_text)

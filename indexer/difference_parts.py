"""The lines of a passage that are a thing's own, so that what stands beside them changes nothing about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from indexer.records import Passage, Relation, Sort

# Blank lines, the preprocessor's, and those that open or close a namespace: at an edge they belong to nobody.
_EDGE = re.compile(r"\s*(?:#.*|(?:inline\s+)?namespace\b[\w:\s]*\{|\}\s*//.*\bnamespace\b.*)?")
_OPTION = re.compile(r"\b(?:cl::(?:opt|list|bits)|(?:List)?Option)\s*<")
# A string, or a bracket of an option's declaration.
_MARK = re.compile(r'"(?:\\.|[^"\\])*"|[<({\[]|[>)}\]]|;')
_LISTED = re.compile(r"^  --(?P<name>[\w-]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """What of a passage is a thing's own: the text, and the line of the file at which it begins."""

    relation: Relation
    passage: Passage
    text: str
    first: int


def part_of(sort: Sort, name: str, relation: Relation, passage: Passage) -> Part:
    """Return what of a passage makes the thing; an option's is its own entry, where the passage holds several."""
    span = next(_entries(name, passage), None) if sort == "option" else None
    if span is not None:
        text = passage.text[span[0] : span[1]].rstrip()
        return Part(relation, passage, text, passage.start_line + passage.text.count("\n", 0, span[0]))
    lines = passage.text.split("\n")
    own = [n for n, line in enumerate(lines) if not _EDGE.fullmatch(line)]
    head, end = (own[0], own[-1] + 1) if own else (0, len(lines))
    return Part(relation, passage, "\n".join(lines[head:end]), passage.start_line + head)


def _entries(name: str, passage: Passage) -> Iterator[tuple[int, int]]:
    """Yield where an option of that name begins and ends in a passage of several."""
    text = passage.text
    if passage.kind == "catalog":
        starts = [(found.start(), found["name"]) for found in _LISTED.finditer(text)]
        ends = [start for start, _ in starts[1:]] + [len(text)]
        yield from ((start, end) for (start, listed), end in zip(starts, ends, strict=True) if listed == name)
        return
    for found in _OPTION.finditer(text):
        end = _end(text, found.end(), is_record=passage.language == "tablegen")
        if f'"{name}"' in text[found.start() : end]:
            yield found.start(), end


def _end(text: str, at: int, *, is_record: bool) -> int:
    """Return where a declaration ends, whose first `<` stands before `at`: a record's at its `>`, code at its `;`."""
    depth = 1
    for found in _MARK.finditer(text, at):
        mark = found[0]
        if mark[0] == '"':
            continue
        if mark == ";":
            if depth <= 0:
                return found.end()
            continue
        depth += 1 if mark in "<({[" else -1
        if is_record and depth <= 0:
            return found.end()
    return len(text)

"""Markdown and reStructuredText: one unit a heading, English and Chinese alike."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from indexer.grammar.base import Grammar, Outline, Unit, split_lines

_ATX = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"^\s*(```+|~~~+)")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.])\1{2,}\s*$")
# A line of a note that is only a citation: a place to open, not language.
_CITATION = re.compile(r"\s*`[\w-]+@[0-9a-f]{12}:\S+`\s*$")
_MARKS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[`*|]{1,3}|<[^>]{1,80}>")

_Heading = tuple[int, int, str]


def outline(path: str, text: str) -> Outline:
    """Outline one document by its headings; text inside fences is code and no prose."""
    lines = split_lines(text)
    fenced = _fences(lines)
    headings = list(_rst(lines) if path.endswith(".rst") else _atx(lines, fenced))
    prose = tuple("" if inside else _plain(line) for line, inside in zip(lines, fenced, strict=True))
    return Outline(tuple(_units(headings, lines, fenced)), prose)


def note_outline(path: str, text: str) -> Outline:
    """Outline a knowledge card: as any document, but its sections are notes and its citations are no prose."""
    found = outline(path, text)
    units = tuple(dataclasses.replace(unit, kind="note") for unit in found.units)
    lines = zip(split_lines(text), found.prose, strict=True)
    return Outline(units, tuple("" if _CITATION.match(line) else prose for line, prose in lines))


def _fences(lines: list[str]) -> list[bool]:
    inside, marks = "", []
    for line in lines:
        found = _FENCE.match(line)
        if found and not inside:
            inside = found[1]
            marks.append(True)
        elif found and found[1].startswith(inside) and line.strip() == found[1]:
            inside = ""
            marks.append(True)
        else:
            marks.append(bool(inside))
    return marks


def _atx(lines: list[str], fenced: list[bool]) -> Iterator[_Heading]:
    for number, (line, inside) in enumerate(zip(lines, fenced, strict=True), 1):
        if not inside and (found := _ATX.match(line)):
            yield number, len(found[1]), _plain(found[2])


def _rst(lines: list[str]) -> Iterator[_Heading]:
    order: list[str] = []
    for number, line in enumerate(lines[1:], 1):
        title = lines[number - 1].strip()
        if (found := _UNDERLINE.match(line)) and title and not _UNDERLINE.match(title) and len(line.strip()) >= 3:
            if found[1] not in order:
                order.append(found[1])
            yield number, order.index(found[1]) + 1, title


def _units(headings: list[_Heading], lines: list[str], fenced: list[bool]) -> Iterator[Unit]:
    trail: dict[int, str] = {}
    for place, (start, level, title) in enumerate(headings, 1):
        end = headings[place][0] - 1 if place < len(headings) else len(lines)
        trail = {depth: name for depth, name in trail.items() if depth < level}
        cuts = tuple(n for n in range(start + 1, end + 1) if not lines[n - 2].strip() and not fenced[n - 1])
        above = " > ".join(trail.values())
        # A heading without a text of its own stands at the head of its first section.
        empty = not any(line.strip() for line in lines[start:end])
        yield Unit(start, end, "doc", "" if empty else title, above, above, cuts, alone=not empty)
        trail[level] = title


def _plain(line: str) -> str:
    return " ".join(_MARKS.sub(lambda m: f" {m[1] or ''} ", line.strip().lstrip("#>-+ ")).split())


GRAMMAR = Grammar("markdown", "doc", outline)
RST_GRAMMAR = Grammar("rst", "doc", outline)
NOTE_GRAMMAR = Grammar("markdown", "note", note_outline)

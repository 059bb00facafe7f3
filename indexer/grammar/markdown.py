"""Markdown and reStructuredText: one unit a heading, English and Chinese alike; tables and code blocks stay whole."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from indexer.grammar.base import Grammar, Outline, Unit, split_lines
from indexer.grammar.cfamily import clean_line

_ATX = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
_FENCE = re.compile(r"^\s*(?:[-*+]\s+|\d+\.\s+)?(```+|~~~+)")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.])\1{2,}\s*$")
_TABLE_TAG = re.compile(r"<(/?)table\b", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)、])\s")
# A directive whose content is code or a list of files, and the `::` that opens a literal block.
_LITERAL = re.compile(r"^\s*\.\. (?:code-block|code|sourcecode|literalinclude|toctree|math|raw|image|figure)\b|::\s*$")
_DIRECTIVE = re.compile(r"^\s*(?:\.\. [\w-]+::|\.\. _|:[\w-]+:)")
# A line of a note that is only a citation: a place to open, not language.
_CITATION = re.compile(r"\s*`[\w-]+@[0-9a-f]{12}:\S+`\s*$")
_MARKS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[`*|]{1,3}|<[^>]{1,80}>")
_CODE_COMMENT = re.compile(r"^\s*(?:#|//)\s+(.+)")
_RULER = re.compile(r"^[\s|:=+~_-]*$")

_Heading = tuple[int, int, str]


def outline(path: str, text: str) -> Outline:
    """Outline one document by its headings; text inside fences is code and no prose."""
    lines = split_lines(text)
    rst = path.endswith(".rst")
    code = _literals(lines) if rst else _fences(lines)
    headings = list(_rst(lines) if rst else _markdown(lines, code))
    prose = tuple(_comment(line) if inside else _plain(line, rst=rst) for line, inside in zip(lines, code, strict=True))
    return Outline(tuple(_units(headings, lines, code)), prose)


def note_outline(path: str, text: str) -> Outline:
    """Outline a knowledge card: as any document, but its sections are notes and its citations are no prose."""
    found = outline(path, text)
    units = tuple(dataclasses.replace(unit, kind="note") for unit in found.units)
    lines = zip(split_lines(text), found.prose, strict=True)
    return Outline(units, tuple("" if _CITATION.match(line) else prose for line, prose in lines))


def _fences(lines: list[str]) -> list[bool]:
    """Tell which lines are fenced code, the fences with it."""
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


def _literals(lines: list[str]) -> list[bool]:
    """Tell which lines of a reStructuredText are literal blocks or the content of directives that hold no prose."""
    marks: list[bool] = []
    depth: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        marks.append(depth is not None)
        if depth is None and _LITERAL.search(line):
            depth = indent
    return marks


def _markdown(lines: list[str], fenced: list[bool]) -> Iterator[_Heading]:
    first = _front_matter(lines)
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        if fenced[number - 1]:
            continue
        if found := _ATX.match(line):
            yield number, len(found[1]), _plain(found[2])
        elif number < len(lines) and (under := _SETEXT.match(lines[number])) and _is_title(lines, number, first):
            yield number, 1 if under[1][0] == "=" else 2, _plain(line)


def _front_matter(lines: list[str]) -> int:
    """Return the last line of the settings at a document's head, 0 where there are none."""
    if not lines or lines[0].strip() != "---":
        return 0
    return next((n for n, line in enumerate(lines[1:], 2) if line.strip() == "---"), 0)


def _is_title(lines: list[str], number: int, first: int) -> bool:
    """Tell whether a line above a ruler is its title: one line of text with nothing above."""
    line = lines[number - 1].strip()
    alone = number - 1 == first or not lines[number - 2].strip()
    return alone and not line.startswith(("|", ">", "-", "<")) and not _RULER.match(line)


def _rst(lines: list[str]) -> Iterator[_Heading]:
    order: list[str] = []
    for number, line in enumerate(lines[1:], 1):
        title = lines[number - 1].strip()
        if (found := _UNDERLINE.match(line)) and title and not _UNDERLINE.match(title) and len(line.strip()) >= 3:
            if found[1] not in order:
                order.append(found[1])
            over = number > 1 and lines[number - 2].strip() == line.strip()
            yield number - over, order.index(found[1]) + 1, title


def _units(headings: list[_Heading], lines: list[str], code: list[bool]) -> Iterator[Unit]:
    trail: dict[int, str] = {}
    whole = _whole(lines, code)
    for place, (start, level, title) in enumerate(headings, 1):
        end = headings[place][0] - 1 if place < len(headings) else len(lines)
        trail = {depth: name for depth, name in trail.items() if depth < level}
        borders = [n for n in range(start + 1, end + 1) if not whole[n - 1]]
        cuts = tuple(n for n in borders if not lines[n - 2].strip() and not lines[n - 1].startswith((" ", "\t")))
        inner = tuple(n for n in borders if not lines[n - 2].strip() or _ITEM.match(lines[n - 1]))
        above = " > ".join(trail.values())
        # A heading without a text of its own stands at the head of its first section.
        empty = not any(line.strip() and not _UNDERLINE.match(line) for line in lines[start:end])
        yield Unit(
            start, end, "doc", "" if empty else title, above, above, cuts=cuts, inner_cuts=inner, alone=not empty
        )  # fmt: skip
        trail[level] = title


def _whole(lines: list[str], code: list[bool]) -> list[bool]:
    """Tell at which lines nothing may be cut: inside code (but for its first line), and tables."""
    marks, depth = [], 0
    for number, line in enumerate(lines):
        inside_code = code[number] and number > 0 and code[number - 1]
        row = line.lstrip().startswith("|") and number > 0 and lines[number - 1].lstrip().startswith("|")
        marks.append(inside_code or row or depth > 0)
        depth = max(0, depth + sum(-1 if m[1] else 1 for m in _TABLE_TAG.finditer(line)))
    return marks


def _comment(line: str) -> str:
    """Return the comment of a line of code: what is done there is said in words."""
    found = _CODE_COMMENT.match(line)
    return clean_line(found[1]) if found else ""


def _plain(line: str, *, rst: bool = False) -> str:
    if _RULER.match(line) or (rst and _DIRECTIVE.match(line)):
        return ""
    return " ".join(_MARKS.sub(lambda m: f" {m[1] or ''} ", line.strip().lstrip("#>-+ ")).split())


GRAMMAR = Grammar("markdown", "doc", outline)
RST_GRAMMAR = Grammar("rst", "doc", outline)
NOTE_GRAMMAR = Grammar("markdown", "note", note_outline)

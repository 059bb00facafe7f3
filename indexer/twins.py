"""Documents that say the same in English and in Chinese: which passage is the translation of which.

Two documents are twins when their paths are equal but for marks of a language (`docs/en/` and `docs/zh_cn/`,
`README.md` and `README_zh.md`) and for how names are written (`AutoSync/AutoSync.md`, `auto_sync.md`). Their sections
are matched in order, by depth and by the names and numbers that a translation leaves alone. A card holds both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from indexer.records import Passage
from indexer.words import has_chinese

_LANGUAGE = re.compile(
    r"(?:^|(?<=[/._-]))(?:zh[_-]?(?:cn|hans)?|cn|chinese|en(?:[_-]us)?|english)(?=$|[/._-])", re.IGNORECASE
)
_CHINESE_MARK = re.compile(r"zh|cn|chinese", re.IGNORECASE)
_KEPT_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{2,}|\d{2,}")
_HEADING = re.compile(r"^(#{1,6})\s", re.MULTILINE)
# Sections of a document beyond this are matched in order only: the table of all pairs would be large.
MAX_SECTIONS = 800


@dataclass(frozen=True, slots=True)
class _Section:
    rows: tuple[int, ...]
    level: int
    title: frozenset[str]
    words: frozenset[str]


def find_twins(passages: Sequence[Passage]) -> dict[int, int]:
    """Return for each row of a passage the row of its translation, both ways; rows are positions in `passages`."""
    documents: dict[tuple[str, str, bool], list[int]] = defaultdict(list)
    for row, p in enumerate(passages):
        if p.kind == "note":
            documents[p.corpus, p.path, has_chinese(p.symbol)].append(row)
        elif p.kind == "doc" and p.language in {"markdown", "rst"}:
            key, chinese = document_key(p.path)
            documents[p.corpus, key, chinese].append(row)
    found: dict[int, int] = {}
    for (corpus, key, chinese), rows in documents.items():
        if chinese and (others := documents.get((corpus, key, False))):
            for a, b in _pairs(_sections(passages, others), _sections(passages, rows)):
                found[a], found[b] = b, a
    return found


def document_key(path: str) -> tuple[str, bool]:
    """Return what a document and its translation have in common, and whether this path is the Chinese one."""
    marks = _LANGUAGE.findall(path)
    folder, _, name = _LANGUAGE.sub("", path).lower().rpartition("/")
    parts = [re.sub(r"[\W_]+", "", part) for part in (*folder.split("/"), name.rpartition(".")[0])]
    parts = [part for part, before in zip(parts, ["", *parts], strict=False) if part and part != before]
    return "/".join([*parts, name.rpartition(".")[2]]), any(_CHINESE_MARK.search(mark) for mark in marks)


def _sections(passages: Sequence[Passage], rows: Sequence[int]) -> list[_Section]:
    """Group the passages of one document, in order, by the heading they stand under."""
    groups: list[list[int]] = []
    for row in sorted(rows, key=lambda r: (passages[r].path, passages[r].start_line)):
        p = passages[row]
        heads = _HEADING.match(p.text) or p.language == "rst"
        if not groups or heads or passages[groups[-1][0]].symbol != p.symbol:
            groups.append([row])
        else:
            groups[-1].append(row)
    return [_section(passages, group) for group in groups]


def _section(passages: Sequence[Passage], rows: Sequence[int]) -> _Section:
    text = "\n".join(passages[row].text for row in rows)
    heading = _HEADING.match(text)
    title = frozenset(_KEPT_WORD.findall(passages[rows[0]].symbol))
    return _Section(tuple(rows), len(heading[1]) if heading else 0, title, frozenset(_KEPT_WORD.findall(text)))


def _pairs(english: Sequence[_Section], chinese: Sequence[_Section]) -> list[tuple[int, int]]:
    """Return rows that say the same, from the best way to match the sections in order."""
    matched = (
        list(zip(english, chinese, strict=False))
        if max(len(english), len(chinese)) > MAX_SECTIONS
        else _aligned(english, chinese)
    )
    return [pair for a, b in matched for pair in _by_place(a.rows, b.rows)]


def _by_place(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Pair the parts of two sections, first with first; parts that one has more have no twin."""
    return list(zip(a, b, strict=False))


def _aligned(a: Sequence[_Section], b: Sequence[_Section]) -> list[tuple[_Section, _Section]]:
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + _likeness(a[i], b[j]))
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if best[i][j] == best[i + 1][j + 1] + _likeness(a[i], b[j]) > best[i + 1][j + 1]:
            out.append((a[i], b[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return out


def _likeness(english: _Section, chinese: _Section) -> float:
    """Say how well two sections fit: the same depth, and the names of the Chinese one found in the English one."""
    titled = 2 * _share(chinese.title, english.title) if chinese.title else 0.0
    return titled + _share(chinese.words, english.words) + 0.5 * (english.level == chinese.level)


def _share(of: frozenset[str], among: frozenset[str]) -> float:
    return len(of & among) / len(of) if of else 0.5

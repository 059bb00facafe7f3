"""A file -> passages. Law: every line of the file is in exactly one passage, in order."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from indexer.grammar import cpp, markdown, mlir, plain, python, tablegen
from indexer.grammar.base import Grammar, Outline, Unit, split_lines
from indexer.records import Corpus, Kind, Passage
from indexer.words import spoken

# Raised whenever the same file would give other passages: unchanged files are then chunked anew.
CHUNKER_VERSION = 3
TARGET_LINES = 60
MAX_LINES = 80
# Longer ones are tables and generated text; the embedders read 128 to 512 tokens.
MAX_NATURAL = 4000
MAX_CONTEXT = 60
# Languages whose context is the signature of a definition.
_SIGNED = frozenset({"cpp", "python"})

LANGUAGES: dict[str, Grammar] = {
    ".cpp": cpp.GRAMMAR, ".cc": cpp.GRAMMAR, ".c": cpp.GRAMMAR, ".h": cpp.GRAMMAR, ".hpp": cpp.GRAMMAR,
    ".inc": cpp.GRAMMAR, ".td": tablegen.GRAMMAR, ".py": python.GRAMMAR, ".mlir": mlir.GRAMMAR,
    ".md": markdown.GRAMMAR, ".rst": markdown.RST_GRAMMAR, ".txt": plain.TEXT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunked:
    """The passages of one file; `parsed` is False where its grammar gave up and windows of lines were cut."""

    passages: tuple[Passage, ...]
    parsed: bool


def grammar_of(path: str) -> Grammar | None:
    """Return the grammar for a path's suffix, None for a file that is not text we read."""
    dot = path.rfind(".")
    return LANGUAGES.get(path[dot:].lower()) if dot >= 0 else None


def chunk_file(corpus: Corpus, path: str, text: str, grammar: Grammar, kind: Kind | None = None) -> Chunked:
    """Cut one file into passages; `kind` overrides what the grammar says (all of a test folder is `test`)."""
    lines = split_lines(text)
    if not lines:
        return Chunked((), parsed=True)
    outline = grammar.outline(path, text)
    parts = [part for unit in _merged(_covering(outline, lines, grammar)) for part in _split(unit, lines, grammar)]
    maker = _Maker(corpus, path, grammar, lines, outline.prose)
    return Chunked(tuple(maker.make(part, kind) for part in parts), outline.parsed)


def _covering(outline: Outline, lines: list[str], grammar: Grammar) -> list[Unit]:
    """Fill what the units leave open, so that they tile the file; a comment goes to the definition below it."""
    tiles: list[Unit] = []
    at = 1
    for unit in sorted(outline.units, key=lambda u: (u.start, -u.end)):
        start, end = max(unit.start, at), min(unit.end, len(lines))
        if end < start:
            continue
        first = _first_comment(lines, start, at, grammar)
        tiles += _filler(lines, at, first - 1, grammar, unit.scope)
        tiles.append(dataclasses.replace(unit, start=first, end=end))
        at = end + 1
    return [*tiles, *_filler(lines, at, len(lines), grammar, "")]


def _first_comment(lines: list[str], start: int, low: int, grammar: Grammar) -> int:
    while start > low and grammar.leading.match(lines[start - 2]):
        start -= 1
    return start


def _filler(lines: list[str], start: int, end: int, grammar: Grammar, scope: str) -> list[Unit]:
    if end < start:
        return []
    cuts = tuple(n for n in range(start + 1, end + 1) if not lines[n - 2].strip() or lines[n - 2] in {"}", "};"})
    return [Unit(start, end, grammar.default, "", scope, cuts=cuts)]


def _merged(tiles: list[Unit]) -> list[Unit]:
    """Join short neighbours; blank or nameless lines go with the definition before them."""
    out: list[Unit] = []
    for tile in tiles:
        if out and _may_join(out[-1], tile):
            out[-1] = _join(out[-1], tile)
        else:
            out.append(tile)
    return out


def _may_join(a: Unit, b: Unit) -> bool:
    length = b.end - a.start + 1
    if a.alone or b.alone:
        # A few lines between two definitions (blank, a brace, a ruler) are no passage of their own.
        small = not b.symbol and b.end - b.start < 3 if a.alone else not a.symbol and a.end - a.start < 3
        return small and length <= MAX_LINES
    related = a.kind == b.kind or not a.symbol or not b.symbol
    return related and length <= TARGET_LINES and (a.scope == b.scope or not a.symbol or not b.symbol)


def _join(a: Unit, b: Unit) -> Unit:
    named = a if a.symbol else b
    symbol = ", ".join(dict.fromkeys(s for s in (a.symbol, b.symbol) if s))
    context = "; ".join(c for c in (a.context, b.context) if c)
    cuts = (*a.cuts, b.start, *b.cuts)
    return Unit(a.start, b.end, named.kind, symbol, named.scope, context, cuts, a.alone or b.alone)


def _split(unit: Unit, lines: list[str], grammar: Grammar) -> Iterator[Unit]:
    """Cut a long unit at the last border before the target length; without one, at the target."""
    # The first part holds the signature itself; its types would only blur what the comments say.
    part = dataclasses.replace(unit, context="") if grammar.language in _SIGNED else unit
    while unit.end - part.start + 1 > MAX_LINES:
        low, high = part.start + TARGET_LINES // 3, part.start + TARGET_LINES
        borders = [c for c in unit.cuts if low <= c <= high] or [
            n for n in range(low, high + 1) if not lines[n - 2].strip()
        ]
        cut = max(borders, default=high)
        yield dataclasses.replace(part, end=cut - 1)
        part = dataclasses.replace(unit, start=cut)
    yield part


class _Maker:
    """Makes the passages of one file, counting those that would have the same key."""

    def __init__(self, corpus: Corpus, path: str, grammar: Grammar, lines: list[str], prose: tuple[str, ...]) -> None:
        self.corpus, self.path, self.grammar = corpus, path, grammar
        self.lines, self.prose = lines, prose
        self.seen: Counter[tuple[str, str]] = Counter()

    def make(self, unit: Unit, kind: Kind | None) -> Passage:
        text = "\n".join(self.lines[unit.start - 1 : unit.end])
        ordinal = self.seen[unit.symbol, text]
        self.seen[unit.symbol, text] += 1
        return Passage(
            self.corpus.name, self.corpus.commit, self.path, unit.start, unit.end, kind or unit.kind, unit.symbol,
            self.grammar.language, text, self._natural(unit), ordinal,
        )  # fmt: skip

    def _natural(self, unit: Unit) -> str:
        """Give the names of file and symbol as words, then comments, descriptions and messages; never raw code."""
        stem = self.path.rpartition("/")[2].rpartition(".")[0]
        names = spoken([stem, *re.split(r"::|[\s,.]+", unit.symbol)])
        # The passes of a RUN line are kept as names, so that a pass finds its tests.
        context = unit.context if self.grammar.language == "mlir" else spoken(unit.context.split()[:MAX_CONTEXT])
        names = f"{names}. {context}" if context else names
        prose = " ".join(p for p in self.prose[unit.start - 1 : unit.end] if p)
        return f"{names}. {prose}".lstrip(". ")[:MAX_NATURAL]

"""A file -> passages. Law: every line of the file is in exactly one passage, in order."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexer.grammar import cpp, markdown, mlir, plain, python, tablegen
from indexer.grammar.base import Fallback, Grammar, Outline, Unit, split_lines
from indexer.grammar.tiles import cover
from indexer.records import Corpus, Kind, Passage
from indexer.words import spoken

# Raised whenever the same file would give other passages: unchanged files are then chunked anew.
CHUNKER_VERSION = 8
TARGET_LINES = 60
MAX_LINES = 80
# Between two definitions, so few lines are no passage of their own.
FEW_LINES = 3
# A definition and the few lines behind it stay whole up to here.
WHOLE_LINES = MAX_LINES + FEW_LINES
# What must not be torn (a table, a fenced block, one long statement) may be this long.
HARD_LINES = 160
# Longer ones are tables and generated text; the embedders read 128 to 512 tokens.
MAX_NATURAL = 4000
MAX_CONTEXT = 60
# Languages whose context is not split into words.
_SAID = frozenset({"mlir", "markdown", "rst"})

LANGUAGES: dict[str, Grammar] = {
    ".cpp": cpp.GRAMMAR, ".cc": cpp.GRAMMAR, ".c": cpp.GRAMMAR, ".h": cpp.GRAMMAR, ".hpp": cpp.GRAMMAR,
    ".inc": cpp.GRAMMAR, ".td": tablegen.GRAMMAR, ".py": python.GRAMMAR, ".mlir": mlir.GRAMMAR,
    ".md": markdown.GRAMMAR, ".rst": markdown.RST_GRAMMAR, ".txt": plain.TEXT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunked:
    """The passages of one file, and where its grammar gave up, what cut it instead."""

    passages: tuple[Passage, ...]
    fallback: Fallback = ""

    @property
    def parsed(self) -> bool:
        """Tell whether the grammar read the file."""
        return not self.fallback


def grammar_of(path: str) -> Grammar | None:
    """Return the grammar for a path's suffix, None for a file that is not text we read."""
    dot = path.rfind(".")
    return LANGUAGES.get(path[dot:].lower()) if dot >= 0 else None


def chunk_file(corpus: Corpus, path: str, text: str, grammar: Grammar, kind: Kind | None = None) -> Chunked:
    """Cut one file into passages; `kind` overrides what the grammar says (all of a test folder is `test`)."""
    lines = split_lines(text)
    if not lines:
        return Chunked(())
    outline = grammar.outline(path, text)
    tiles = _merged(cover(outline.units, lines, grammar))
    parts = (part for unit in tiles for part in _split(unit, lines, grammar))
    maker = _Maker(corpus, path, grammar, lines, outline)
    return Chunked(tuple(maker.make(part, kind) for part in parts), outline.fallback)


def _merged(tiles: Sequence[Unit]) -> list[Unit]:
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
        between = b if a.alone else a
        small = not between.symbol and between.end - between.start < FEW_LINES
        return small and (length <= WHOLE_LINES or a.end - a.start >= WHOLE_LINES)
    related = a.kind == b.kind or not a.symbol or not b.symbol
    return related and length <= TARGET_LINES and (a.scope == b.scope or not a.symbol or not b.symbol)


def _join(a: Unit, b: Unit) -> Unit:
    named = a if a.symbol else b
    symbols = [s for s in (*a.symbol.split(", "), *b.symbol.split(", ")) if s]
    return dataclasses.replace(
        named, start=a.start, end=b.end, symbol=", ".join(dict.fromkeys(symbols)),
        context=_joined(a.context, b.context), signature=_joined(a.signature, b.signature),
        inherited=_joined(a.inherited, b.inherited), cuts=(*a.cuts, b.start, *b.cuts),
        inner_cuts=(*a.inner_cuts, *b.inner_cuts), alone=a.alone or b.alone,
    )  # fmt: skip


def _joined(a: str, b: str) -> str:
    return "; ".join(dict.fromkeys(text for text in (a, b) if text))


def _split(unit: Unit, lines: list[str], grammar: Grammar) -> Iterator[Unit]:
    """Cut a long unit at its borders; parts after the first keep the signature as context."""
    start, context = unit.start, unit.context
    while unit.end - start + 1 > WHOLE_LINES:
        cut = _border(unit, start, lines)
        while cut > start + TARGET_LINES // 3 and grammar.leading.match(lines[cut - 2]):
            cut -= 1  # a comment goes with the statement below it
        yield dataclasses.replace(unit, start=start, end=cut - 1, context=context)
        start, context = cut, _joined(unit.context, unit.signature)
    if start <= unit.end:
        yield dataclasses.replace(unit, start=start, context=context)


def _border(unit: Unit, start: int, lines: list[str]) -> int:
    """Return where the next part begins: at the last border before the target, else the first behind, else there."""
    low, high, hard = start + TARGET_LINES // 3, start + TARGET_LINES, start + HARD_LINES
    for cuts in (unit.cuts, unit.inner_cuts):
        if near := [c for c in cuts if low <= c <= high]:
            return max(near)
    if behind := [c for c in (*unit.cuts, *unit.inner_cuts, unit.end + 1) if high < c <= min(hard, unit.end + 1)]:
        return min(behind)
    return max((n for n in range(low, high + 1) if not lines[n - 2].strip()), default=high)


class _Maker:
    """Makes the passages of one file, counting those that would have the same key."""

    def __init__(self, corpus: Corpus, path: str, grammar: Grammar, lines: list[str], outline: Outline) -> None:
        self.corpus, self.path, self.grammar = corpus, path, grammar
        self.lines, self.prose = lines, outline.prose
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
        names = spoken([self._topic(), *re.split(r"::|[\s,.]+", unit.symbol)])
        # Headings are language already, and the passes of a RUN line are kept as names, so that a pass finds its tests.
        said = self.grammar.language in _SAID
        context = unit.context if said else spoken(unit.context.split()[:MAX_CONTEXT])
        names = f"{names}. {context}" if context else names
        prose = " ".join(p for p in (*self.prose[unit.start - 1 : unit.end], unit.inherited) if p)
        return f"{names}. {prose}".lstrip(". ")[:MAX_NATURAL]

    def _topic(self) -> str:
        """Return the file's name, or its folder's where all files of a kind are called alike."""
        folder, _, name = self.path.rpartition("/")
        stem = name.rpartition(".")[0]
        return folder.rpartition("/")[2] if stem in _NAMELESS and folder else stem


_NAMELESS = frozenset({"CMakeLists", "README", "index", "__init__"})

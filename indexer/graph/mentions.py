"""Tests, documents, notes and Python: which passes, options and operations they speak of by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexer.graph.operations import Operations
from indexer.graph.options import Options
from indexer.graph.passes import HYPHENATED, Passes
from indexer.graph.sources import Sources
from indexer.records import Naming, Passage, Relation

_RUN = re.compile(r"^\s*(?://|#|;)\s*RUN:(?P<command>.*)$", re.MULTILINE)
_FLAG = re.compile(r"(?<![\w/.%-])-{0,2}(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?![\w/.-])", re.IGNORECASE)
_WRITTEN_FLAG = re.compile(r"(?<![\w-])--(?P<name>[a-z][\w-]+)")
_OP = re.compile(r"(?<![\w.])[a-z_]+(?:\.[A-Za-z_]\w*){1,2}(?![\w.])")
# A class in prose: two capitals at least, so that no sentence has it by accident.
_CLASS = re.compile(r"\b[A-Z][a-z0-9]+[A-Z]\w+|\b[A-Z]{2,}[a-z]\w+")

_PROSE = frozenset({"doc", "note"})
_SPEAKING = _PROSE | {"python"}


def name_test_runs(passages: Sequence[Passage], passes: Passes, options: Options) -> Iterator[Naming]:
    """Yield the passes and options that a test's RUN lines ask for, for all cases of the file."""
    flags: dict[tuple[str, str], set[str]] = {}
    tests: list[tuple[int, tuple[str, str]]] = []
    for row, p in enumerate(passages):
        if p.kind == "test" and p.language == "mlir":
            tests.append((row, (p.corpus, p.path)))
            if "RUN:" in p.text:
                asked = (m["name"] for run in _RUN.finditer(p.text) for m in _FLAG.finditer(run["command"]))
                flags.setdefault((p.corpus, p.path), set()).update(asked)
    with_cases = {place for row, place in tests if passages[row].symbol}
    for row, place in tests:
        # A head without a case only says how the others are run.
        found = flags.get(place, set()) if passages[row].symbol or place not in with_cases else set()
        yield from (Naming(name, "pass", "tests", row) for name in sorted(found & passes.arguments))
        yield from (Naming(name, "option", "tests", row) for name in sorted(found & options.names))


def name_mentions(sources: Sources, passes: Passes, options: Options, ops: Operations) -> Iterator[Naming]:
    """Yield what documents, notes and Python name in their text."""
    for row, p in enumerate(sources.passages):
        if p.kind in _SPEAKING:
            relation: Relation = "uses" if p.kind == "python" else "documents"
            yield from _mentioned(row, sources, relation, passes, options)
            if relation == "documents":
                yield from _code_in_prose(row, sources, passes, ops)


def _mentioned(row: int, sources: Sources, relation: Relation, passes: Passes, options: Options) -> Iterator[Naming]:
    written = set(sources.found(row, "flags"))
    for name in sorted({*sources.found(row, "hyphenated"), *written}):
        if name in passes.arguments:
            yield Naming(name, "pass", relation, row)
        elif name in options.names or name in written:
            yield Naming(name, "option", relation, row)


def _code_in_prose(row: int, sources: Sources, passes: Passes, ops: Operations) -> Iterator[Naming]:
    yield from (Naming(name, "op", "documents", row) for name in sources.found(row, "dotted") if name in ops.names)
    for name in sources.found(row, "classes"):
        if argument := passes.by_class.get(name.removesuffix("Pass")) or passes.by_class.get(name):
            yield Naming(argument, "pass", "documents", row)


def hyphenated(p: Passage) -> list[str]:
    """Scan what speaks of code for names as passes and options have them."""
    return sorted({m["name"] for m in HYPHENATED.finditer(p.text)}) if p.kind in _SPEAKING else []


def flags(p: Passage) -> list[str]:
    """Scan what speaks of code for options written with their two dashes."""
    if p.kind not in _SPEAKING or "--" not in p.text:
        return []
    return sorted({m["name"] for m in _WRITTEN_FLAG.finditer(p.text)})


def dotted(p: Passage) -> list[str]:
    """Scan prose for names as operations have them."""
    return sorted(set(_OP.findall(p.text))) if p.kind in _PROSE else []


def classes(p: Passage) -> list[str]:
    """Scan prose for names as classes have them."""
    return list(dict.fromkeys(_CLASS.findall(p.text))) if p.kind in _PROSE else []

"""Tests, documents, notes and Python: which passes, options and operations they speak of by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexer.graph.operations import Operations
from indexer.graph.options import Options
from indexer.graph.passes import HYPHENATED, Passes
from indexer.records import Naming, Passage, Relation

_RUN = re.compile(r"^\s*(?://|#|;)\s*RUN:(?P<command>.*)$", re.MULTILINE)
_FLAG = re.compile(r"(?<![\w/.%-])-{0,2}(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?![\w/.-])", re.IGNORECASE)
_WRITTEN_FLAG = re.compile(r"(?<![\w-])--(?P<name>[a-z][\w-]+)")
_OP = re.compile(r"(?<![\w.])[a-z_]+(?:\.[A-Za-z_]\w*){1,2}(?![\w.])")
# A class in prose: two capitals at least, so that no sentence has it by accident.
_CLASS = re.compile(r"\b[A-Z][a-z0-9]+[A-Z]\w+|\b[A-Z]{2,}[a-z]\w+")


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


def name_mentions(passages: Sequence[Passage], passes: Passes, options: Options, ops: Operations) -> Iterator[Naming]:
    """Yield what documents, notes and Python name in their text."""
    for row, p in enumerate(passages):
        if p.kind in {"doc", "note", "python"}:
            relation: Relation = "uses" if p.kind == "python" else "documents"
            yield from _mentioned(row, p, relation, passes, options)
            if relation == "documents":
                yield from _code_in_prose(row, p, passes, ops)


def _mentioned(row: int, p: Passage, relation: Relation, passes: Passes, options: Options) -> Iterator[Naming]:
    flags = {m["name"] for m in _WRITTEN_FLAG.finditer(p.text)} if "--" in p.text else set()
    for name in sorted({m["name"] for m in HYPHENATED.finditer(p.text)} | flags):
        if name in passes.arguments:
            yield Naming(name, "pass", relation, row)
        elif name in options.names or name in flags:
            yield Naming(name, "option", relation, row)


def _code_in_prose(row: int, p: Passage, passes: Passes, ops: Operations) -> Iterator[Naming]:
    yield from (Naming(name, "op", "documents", row) for name in sorted(set(_OP.findall(p.text)) & ops.names))
    for name in dict.fromkeys(_CLASS.findall(p.text)):
        if argument := passes.by_class.get(name.removesuffix("Pass")) or passes.by_class.get(name):
            yield Naming(argument, "pass", "documents", row)

"""The symbol graph: what each passage is to the passes, operations, options, symbols and diagnostics it speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from indexer.graph.library import name_library
from indexer.graph.mentions import name_mentions, name_test_runs
from indexer.graph.operations import gather_operations, name_code, name_tests
from indexer.graph.options import Options, name_options, name_pipelines
from indexer.graph.passes import gather_passes, name_implementations
from indexer.graph.scans import scan_passage
from indexer.graph.sources import Facts, Sources
from indexer.records import Naming, Passage, Relation

_LAST = re.compile(r"::|\.")


def name_passages(passages: Sequence[Passage], facts: Sequence[Facts] | None = None) -> list[Naming]:
    """Return every naming of the passages; rows are positions in `passages`, and in what was scanned of them."""
    sources = Sources(passages, facts if facts is not None else [scan_passage(p) for p in passages])
    return list(dict.fromkeys(_namings(sources)))


def _namings(sources: Sources) -> Iterator[Naming]:
    passages = sources.passages
    passes, options, ops = gather_passes(passages), Options(), gather_operations(sources)
    yield from _definitions(passages)
    yield from (Naming(op.name, "op", "defines", row) for row, op in ops.by_row.items())
    yield from name_options(passages, options)
    yield from name_implementations(sources, passes)
    yield from name_pipelines(sources, passes, options)
    yield from name_tests(ops)
    yield from name_code(sources, ops)
    yield from name_library(sources, ops)
    yield from name_test_runs(passages, passes, options)
    yield from name_mentions(sources, passes, options, ops)
    yield from _messages(sources)


def _definitions(passages: Sequence[Passage]) -> Iterator[Naming]:
    """Yield the symbols that passages define, whole and by their last part, and the passes."""
    for row, p in enumerate(passages):
        if p.symbol and p.kind not in {"doc", "note"}:
            for symbol in p.symbol.split(", "):
                yield Naming(symbol, "symbol", "defines", row)
                if (last := _LAST.split(symbol)[-1]) != symbol:
                    yield Naming(last, "symbol", "defines", row)
        if p.kind in {"catalog", "pass_def"}:
            yield Naming(p.symbol, "pass", "defines", row)


def _messages(sources: Sources) -> Iterator[Naming]:
    for row, p in enumerate(sources.passages):
        relation: Relation = "tests" if p.kind == "test" else "defines"
        yield from (Naming(text, "diagnostic", relation, row) for text in sources.found(row, "messages"))

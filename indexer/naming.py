"""Names and links of a whole generation, made from what is remembered of its old passages and read of its new ones."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from indexer.graph.links import link_passages
from indexer.graph.scans import scan_passage
from indexer.graph.sources import Facts
from indexer.records import Passage
from indexer.shelf import Shelf, editing
from indexer.symbols import name_passages

# What the scans of the graph found, by row.
FACTS = "facts.json"


def name_shelf(folder: Path, old: Path | None, source: Sequence[int]) -> None:
    """Write names and links of all passages of the unfinished generation in `folder`.

    `source` tells the row that each had in the generation `old`, or -1. Raises `StoreError` where the disk refuses.
    """
    with _uncollected():
        shelf = Shelf(folder / "passages.sqlite")
        passages = [row.passage for row in shelf.everything()]
        shelf.close()
        facts = _facts(passages, old, source)
        namings = name_passages(passages, facts)
        with editing(folder / "passages.sqlite") as writer:
            writer.set_names(namings, link_passages(passages, namings))
    (folder / FACTS).write_text(json.dumps(facts, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave out the search for cycles: a million small records are made, none of them in one; it takes a quarter."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _facts(passages: Sequence[Passage], old: Path | None, source: Sequence[int]) -> list[Facts]:
    """Return what the scans find, without scanning a passage that the old generation had."""
    known = _known(old)
    return [known[row] if 0 <= row < len(known) else scan_passage(p) for p, row in zip(passages, source, strict=True)]


def _known(old: Path | None) -> list[Facts]:
    """Read what an old generation remembers; one that is damaged remembers nothing."""
    try:
        found: list[Facts] = json.loads((old / FACTS).read_text(encoding="utf-8")) if old is not None else []
    except (OSError, ValueError):
        return []
    return found

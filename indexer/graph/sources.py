"""All passages, and the C++ among them by file, class and function: where the parts of the graph look code up.

What is read from the text of one passage alone is a *scan*, and remembered, so that an update scans only new text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from indexer.records import Passage

# What the scans of a passage found, by their names, as JSON can keep it; what found nothing is left out.
Facts = Mapping[str, Sequence[Any]]

# A file: corpus and path.
Place = tuple[str, str]


class Sources:
    """Passages by what they are called; rows are positions in `passages`.

    `facts` holds by row what the scans of `indexer.graph.scans` found in each passage alone.
    """

    def __init__(self, passages: Sequence[Passage], facts: Sequence[Facts]) -> None:
        self.passages = passages
        self._facts = facts
        self.cpp: dict[Place, list[int]] = defaultdict(list)
        self._classes: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._functions: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._symbols: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for row, p in enumerate(passages):
            if p.symbol:
                self._symbols[p.corpus, p.path, p.symbol].append(row)
            if p.language == "cpp" and p.kind != "test":
                self._add(row, p)

    def _add(self, row: int, p: Passage) -> None:
        self.cpp[p.corpus, p.path].append(row)
        if not p.symbol:
            return
        for symbol in p.symbol.split(", "):
            scope, _, last = symbol.rpartition("::")
            self._functions[p.corpus, last].append(row)
            if scope:  # a method outside its class, or a member of one that is too long to stay whole
                self._classes[p.corpus, scope.rpartition("::")[2]].append(row)
            else:
                self._classes[p.corpus, last].append(row)

    def found(self, row: int, scan: str) -> Sequence[Any]:
        """Return what a scan found in a passage."""
        return self._facts[row].get(scan, ())

    def class_rows(self, corpus: str, name: str) -> list[int]:
        """Return the passages of a class: it as a whole, or its head and its members."""
        return self._classes.get((corpus, name), [])

    def function_rows(self, corpus: str, name: str) -> list[int]:
        """Return the passages of functions of this name."""
        return self._functions.get((corpus, name), [])

    def parts(self, row: int) -> list[int]:
        """Return the passages that a definition was cut into, `row` among them."""
        p = self.passages[row]
        return self._symbols[p.corpus, p.path, p.symbol] if p.symbol else [row]

    def texts(self, place: Place) -> list[str]:
        """Return the texts of a file's passages."""
        return [self.passages[row].text for row in self.cpp[place]]

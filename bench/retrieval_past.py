"""The history list of an index as it was before a commit: a mined commit finds neither itself nor later ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.history import read_commits
from indexer.lexical import PROSE
from indexer.words import words_of
from retriever.search import Index

Scores = npt.NDArray[np.float32]


class Past:
    """Stands in for `Generation.history`; `before` says from which commit on nothing is known."""

    def __init__(self, index: Index, corpus: str, repository: Path) -> None:
        (mark,) = (m for m in index.manifest.corpora if m.name == corpus)
        self.count = len(index.generation.places)
        number = {path: n for n, (name, path) in enumerate(index.generation.places) if name == corpus}
        self._order: dict[str, int] = {}
        self._words: dict[str, list[tuple[int, int]]] = defaultdict(list)
        pairs: list[tuple[int, int]] = []
        lengths = []
        for at, commit in enumerate(read_commits(repository, mark.commit)):
            self._order[commit.hash[:12]] = at
            words = words_of(commit.message)
            lengths.append(len(words))
            for word, count in Counter(words).items():
                self._words[word].append((at, count))
            pairs += [(at, number[path]) for path in commit.files if path in number]
        self._commit, self._file = np.array(pairs, np.int64).reshape(-1, 2).T
        self._lengths = np.array(lengths, np.float64)
        self._first = 0

    def before(self, commit: str) -> None:
        """Forget a commit and all later ones, until the next call; they are listed newest first."""
        self._first = self._order[commit] + 1

    def score(self, words: Sequence[str]) -> Scores:
        """Return the BM25 score of every file, as an index of that day would have it."""
        length = self._by_file(self._lengths)
        norm = PROSE.k1 * (1.0 - PROSE.b + PROSE.b * length / max(length.mean(), 1e-9))
        out = np.zeros(self.count, np.float64)
        for word in words:
            counts = np.zeros(len(self._lengths))
            for at, count in self._words.get(word, ()):
                counts[at] = count
            often = self._by_file(counts)
            have = np.count_nonzero(often)
            out += np.log1p((self.count - have + 0.5) / (have + 0.5)) * often / (often + norm)
        return out.astype(np.float32)

    def _by_file(self, counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        known = np.where(self._commit >= self._first, counts[self._commit], 0.0)
        return np.bincount(self._file, weights=known, minlength=self.count)

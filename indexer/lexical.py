"""BM25 over one field of all passages: written with bm25s, read as memory-mapped arrays without importing it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.words import words_of

Scores = npt.NDArray[np.float32]


def write_lexical(folder: Path, documents: Iterable[Sequence[str]], tick: Callable[[], None]) -> None:
    """Index `documents` (their words) into `folder`."""
    import bm25s  # noqa: PLC0415 - imports scipy, 0.5 s; only writing needs it

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG on import

    vocabulary: dict[str, int] = {}
    ids = []
    for words in documents:
        ids.append([vocabulary.setdefault(word, len(vocabulary)) for word in words])
        tick()
    folder.mkdir(parents=True)
    if not vocabulary:  # bm25s refuses a corpus without a word
        _save(folder, {"data": [], "indices": [], "indptr": [0], "num_docs": len(ids)}, {})
        return
    # The parameters of the measurements: k1 = 1.5, b = 0.75, Lucene's idf.
    model = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    model.index((ids, vocabulary), show_progress=False, create_empty_token=False)
    _save(folder, model.scores, vocabulary)


def _save(folder: Path, matrix: dict[str, Any], vocabulary: dict[str, int]) -> None:
    np.save(folder / "scores.npy", np.asarray(matrix["data"], np.float32))
    np.save(folder / "rows.npy", np.asarray(matrix["indices"], np.int32))
    np.save(folder / "starts.npy", np.asarray(matrix["indptr"], np.int64))
    np.save(folder / "count.npy", np.asarray(matrix["num_docs"], np.int64))
    (folder / "words.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")


class LexicalField:
    """One field: a word's column holds its score in each passage that has it."""

    def __init__(self, folder: Path) -> None:
        # Plain arrays over the mapped pages: numpy's memmap class makes each slice ten times dearer.
        self._scores = np.asarray(np.load(folder / "scores.npy", mmap_mode="r"))
        self._rows = np.asarray(np.load(folder / "rows.npy", mmap_mode="r"))
        self._starts = np.asarray(np.load(folder / "starts.npy", mmap_mode="r"))
        self.count = int(np.load(folder / "count.npy"))
        self._vocabulary: dict[str, int] = json.loads((folder / "words.json").read_text(encoding="utf-8"))

    def score(self, words: Sequence[str]) -> Scores:
        """Return the BM25 score of every passage for a question's words; a repeated word counts again."""
        total = np.zeros(self.count, np.float32)
        for word in words:
            column = self._vocabulary.get(word)
            if column is not None:
                begin, end = int(self._starts[column]), int(self._starts[column + 1])
                total[self._rows[begin:end]] += self._scores[begin:end]
        return total

    def frequency(self, word: str) -> int:
        """Return in how many passages the word stands."""
        column = self._vocabulary.get(word)
        return 0 if column is None else int(self._starts[column + 1] - self._starts[column])

    def knows(self, word: str) -> bool:
        """Tell whether any passage holds the word."""
        return word in self._vocabulary


def body_words(path: str, symbol: str, text: str) -> list[str]:
    """Return the words of a passage's body field: its text, and path and symbol twice (they name the topic)."""
    named = [*words_of(path), *words_of(symbol)]
    return [*words_of(text), *named, *named]

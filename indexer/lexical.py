"""BM25 over one field of all passages or files: scores by word as mapped arrays, and counts for the next update."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.arrays import mapped, read_array
from indexer.words import count_words

Scores = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

# Raised whenever `words_of` gives other words for the same text, or a field another curve: all is then counted anew.
WORDS_VERSION = 2


@dataclass(frozen=True, slots=True)
class Curve:
    """How BM25 weighs a word: `k1` how soon its repetition adds nothing, `b` how much a long passage's counts less."""

    k1: float
    b: float


# Measured (docs/retrieval.md): code repeats its names, so that their number says little; prose is short and even.
CURVES = {"body": Curve(0.9, 0.4)}
PROSE = Curve(1.5, 0.75)


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each word (a number of `vocabulary`) stands in each document, one document after another."""

    starts: Integers
    words: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    vocabulary: dict[str, int]


def write_lexical(
    folder: Path, documents: Iterable[Mapping[str, int]], tick: Callable[[], None], previous: Counts | None = None,
    source: npt.NDArray[np.int64] | None = None,
) -> None:  # fmt: skip
    """Index documents into `folder`, whose name is the field's.

    With `previous`, `source` tells for each document its number there, or -1 for a new one; `documents` are the new
    ones, in order: how often each word stands in each.
    """
    old = previous if previous is not None else Counts(*_nothing(), {})
    fresh = _count(documents, old.vocabulary, tick)
    if source is None:
        source = np.full(len(fresh.starts) - 1, -1, np.int64)
    counts = _compact(_merge(old, fresh, source))
    folder.mkdir(parents=True)
    for name, array in (("counts_starts", counts.starts), ("counts_words", counts.words), ("counts", counts.counts)):
        np.save(folder / f"{name}.npy", array)
    _write_scores(folder, counts)
    (folder / "words.json").write_text(json.dumps(counts.vocabulary, ensure_ascii=False), encoding="utf-8")


def _nothing() -> tuple[Integers, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    return np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)


def read_counts(folder: Path) -> Counts:
    """Read the counts of a field; raises `OSError` or `ValueError` where they are damaged."""
    vocabulary = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    names = ("counts_starts", "counts_words", "counts")
    starts, words, counts = (read_array(folder / f"{name}.npy") for name in names)
    return Counts(starts, words, counts, vocabulary)


def _count(documents: Iterable[Mapping[str, int]], vocabulary: dict[str, int], tick: Callable[[], None]) -> Counts:
    """Number the words of each document; new ones come after those of `vocabulary`."""
    known = dict(vocabulary)
    lengths, words, counts = [0], [], []
    for often in documents:
        words.append(np.fromiter((known.setdefault(word, len(known)) for word in often), np.int32, len(often)))
        counts.append(np.fromiter(often.values(), np.int32, len(often)))
        lengths.append(len(often))
        tick()
    starts = np.cumsum(lengths, dtype=np.int64)
    _, no_words, no_counts = _nothing()
    return Counts(starts, np.concatenate([no_words, *words]), np.concatenate([no_counts, *counts]), known)


def _merge(old: Counts, fresh: Counts, source: npt.NDArray[np.int64]) -> Counts:
    """Put old and fresh documents in the order of `source`."""
    is_old = source >= 0
    begins = np.zeros(len(source), np.int64)
    lengths = np.zeros(len(source), np.int64)
    begins[is_old] = old.starts[source[is_old]]
    lengths[is_old] = old.starts[source[is_old] + 1] - begins[is_old]
    begins[~is_old] = fresh.starts[:-1] + len(old.words)
    lengths[~is_old] = np.diff(fresh.starts)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    taken = np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1])
    words = np.concatenate([old.words, fresh.words])[taken]
    return Counts(starts, words, np.concatenate([old.counts, fresh.counts])[taken], fresh.vocabulary)


def _compact(counts: Counts) -> Counts:
    """Drop the words that no document has any more."""
    used = np.zeros(len(counts.vocabulary), np.bool_)
    used[counts.words] = True
    if used.all():
        return counts
    numbers = np.cumsum(used, dtype=np.int32) - 1
    # A vocabulary is in the order of its numbers.
    vocabulary = {word: number for number, word in enumerate(compress(counts.vocabulary, used.tolist()))}
    return Counts(counts.starts, numbers[counts.words].astype(np.int32), counts.counts, vocabulary)


def _write_scores(folder: Path, counts: Counts) -> None:
    """Write a column a word: the rows that have it, and its BM25 score in each."""
    documents = len(counts.starts) - 1
    rows = np.repeat(np.arange(documents, dtype=np.int32), np.diff(counts.starts))
    lengths = np.bincount(rows, weights=counts.counts, minlength=documents)
    frequency = np.bincount(counts.words, minlength=len(counts.vocabulary))
    idf = np.log1p((documents - frequency + 0.5) / (frequency + 0.5))
    curve = CURVES.get(folder.name, PROSE)
    relative = lengths / max(lengths.mean() if documents else 0.0, 1e-9)
    norms = curve.k1 * (1.0 - curve.b + curve.b * relative)
    often = counts.counts.astype(np.float64)
    scores = (idf[counts.words] * often / (often + norms[rows])).astype(np.float32)
    order = _in_order(counts.words)
    np.save(folder / "scores.npy", scores[order])
    np.save(folder / "rows.npy", rows[order])
    np.save(folder / "starts.npy", np.concatenate([[0], np.cumsum(frequency)]).astype(np.int64))
    np.save(folder / "count.npy", np.asarray(documents, np.int64))


def _in_order(words: npt.NDArray[np.int32]) -> Integers:
    """Return the places of the words sorted, equal ones in order, in half the time of numpy's own stable sort."""
    places = (words.astype(np.int64) << 32) | np.arange(len(words), dtype=np.int64)
    places.sort()
    return places & 0xFFFFFFFF


class LexicalField:
    """One field: a word's column holds its score in each passage that has it."""

    def __init__(self, folder: Path) -> None:
        self.k1 = CURVES.get(folder.name, PROSE).k1
        # Plain arrays over the mapped pages: numpy's memmap class makes each slice ten times dearer.
        self._scores = mapped(folder / "scores.npy")
        self._rows = mapped(folder / "rows.npy")
        self._starts = mapped(folder / "starts.npy")
        self.count = int(read_array(folder / "count.npy"))
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

    def rows(self, word: str) -> npt.NDArray[np.int32]:
        """Return the passages in which the word stands."""
        column = self._vocabulary.get(word)
        found: npt.NDArray[np.int32] = self._rows[:0]
        return found if column is None else self._rows[int(self._starts[column]) : int(self._starts[column + 1])]

    def frequency(self, word: str) -> int:
        """Return in how many passages the word stands."""
        column = self._vocabulary.get(word)
        return 0 if column is None else int(self._starts[column + 1] - self._starts[column])

    def knows(self, word: str) -> bool:
        """Tell whether any passage holds the word."""
        return word in self._vocabulary


def body_words(path: str, symbol: str, text: str) -> Mapping[str, int]:
    """Count the words of a passage's body field: its text, and path and symbol twice (they name the topic)."""
    return count_words(text, path, path, symbol, symbol)

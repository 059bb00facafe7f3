"""The words of a whole generation, field by field: counted of what is new, taken from an older generation else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.lexical import Counts, body_words, read_counts, write_lexical
from indexer.records import Passage
from indexer.repair import damaged
from indexer.shelf import Shelf
from indexer.words import count_words

Rows = npt.NDArray[np.int64]


def write_body(
    folder: Path, passages: Iterable[Passage], old: Path | None, source: Rows, tick: Callable[[], None]
) -> None:
    """Index what stands in the passages; `passages` are the new ones, `source` the row that each had in `old`, or -1.

    Raises `StoreError` where the old generation is damaged.
    """
    words = (body_words(p.path, p.symbol, p.text) for p in passages)
    write_lexical(folder / "body", words, tick, _counts(old, "body"), source)


def write_prose(folder: Path, old: Path | None, source: Sequence[int], told: Path | None) -> None:
    """Index the natural language of the passages, and by file what commits say: the smaller fields.

    `told` is the old generation where what it tells of commits holds too. The passages of `folder` must be written.
    """
    shelf = Shelf(folder / "passages.sqlite")
    natural = shelf.naturals()
    history = _history(shelf)
    shelf.close()
    new = (count_words(text) for text, row in zip(natural, source, strict=True) if row < 0)
    write_lexical(folder / "natural", new, _silent, _counts(old, "natural"), np.asarray(source, np.int64))
    _write_history(folder, history, told)


def _write_history(folder: Path, history: Sequence[tuple[tuple[str, str], str]], old: Path | None) -> None:
    """Index by file what commits say; of a file that no new commit touched, the old counts hold."""
    number = {}
    if old is not None:
        shelf = Shelf(old / "passages.sqlite")
        number = {document: n for n, document in enumerate(_history(shelf))}
        shelf.close()
    source = np.asarray([number.get(document, -1) for document in history], np.int64)
    new = (count_words(said) for (_, said), n in zip(history, source, strict=True) if n < 0)
    write_lexical(folder / "history", new, _silent, _counts(old, "history"), source)


def _history(shelf: Shelf) -> list[tuple[tuple[str, str], str]]:
    """Return what commits say of each file of a generation, by its number."""
    return list(zip(shelf.places(), shelf.history(), strict=True))


def _counts(old: Path | None, name: str) -> Counts | None:
    if old is None:
        return None
    try:
        return read_counts(old / name)
    except (OSError, ValueError, EOFError) as error:
        raise damaged(old, error) from error


def _silent() -> None:
    """Tell nothing: the body takes longer, and tells how far it is."""

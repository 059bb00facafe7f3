"""The nouns of a search."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.records import Kind, Passage


@dataclass(frozen=True, slots=True)
class Query:
    """A question: words, and things named exactly; `kinds` and `corpora` limit the answer where they are given.

    Of implementations that differ only in the compiler they serve, the one for `target` (`a3`, `a5`) comes first.
    """

    text: str = ""
    passes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    corpora: tuple[str, ...] = ()
    target: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that answers, its score (comparable within one answer only), and the reasons it is here."""

    passage: Passage
    score: float
    why: tuple[str, ...]

"""An opened knowledge base: exact look-up, ranked search, and citations that are checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.embed import Embedder, embedder_of
from indexer.errors import BadInput
from indexer.records import Passage, Sort
from indexer.store import Generation, StoreManifest, open_generation
from retriever.kin import Kin, preference
from retriever.lookup import NEAR_NAMES, Exact, Lookup
from retriever.query import PASTED, Named, understand
from retriever.rank import DEFAULT_WEIGHTS, Asked, Ranked, Scores, Weights, rank
from retriever.records import Hit, Query

_ID = re.compile(
    r"^(?P<corpus>[\w.-]+)@(?P<commit>[0-9a-f]{7,40}):(?P<path>.+)#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?$"
)


@dataclass(frozen=True, slots=True)
class Refused:
    """A citation that does not hold: the id does not open, or its text is not the text that was cited."""

    id: str
    reason: str


def open_knowledge_base(store: Path) -> Index:
    """Open the index in `store`; raises `StoreError` where there is none, or it is damaged."""
    return Index(open_generation(store))


class Index:
    """Answers from one generation; safe to share between threads that only read."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation

    @property
    def manifest(self) -> StoreManifest:
        """Return what the index holds."""
        return self.generation.manifest

    @cached_property
    def names(self) -> Lookup:
        """Return what looks names up."""
        return Lookup(self.generation)

    @cached_property
    def kin(self) -> Kin:
        """Read which files are one thing twice."""
        return Kin(self.generation.places)

    @cached_property
    def embedder(self) -> Embedder | None:
        """Load the model that made the vectors, None where there are none; raises `StoreError` when it is another."""
        return embedder_of(self.manifest.model, self.manifest.dimension, self.manifest.versions)

    def search(self, query: Query, limit: int = 10, weights: Weights = DEFAULT_WEIGHTS) -> list[Hit]:
        """Return the best passages, exact ones first; empty when nothing has a word or a name of the question."""
        question = understand(query.text, self.names.vocabulary)
        given = _given(query)
        allowed = self.allowed(query)
        exact = self.exact(given, allowed)
        if not query.text.strip() or (not given and question.only_names):
            exact = exact or self.exact(question.named, allowed)
            return self._hits(exact, limit) if not query.text.strip() or exact else []
        lifted = self.exact([n for n in question.named if n not in given], allowed)
        pasted = self.exact([n for n in question.named if n.sort in PASTED and n not in given], allowed)
        bonus = {row: weights.exact * value for row, (value, _) in lifted.items()}
        for row, (value, _) in pasted.items():
            bonus[row] += weights.pasted * value
        vector = self.vector(question.for_embedder)
        asked = Asked(question, vector, allowed, bonus, self.kin, preference(query.text, query.target))
        found = rank(self.generation, asked, limit + len(exact), weights)
        reasons = {r.row: _reasons(r, lifted.get(r.row)) for r in found}
        ranked = {r.row: (r.score, reasons[r.row]) for r in found if r.row not in exact}
        first = self._hits(exact, limit)
        return [*first, *self._hits(ranked, limit - len(first))]

    def lookup(self, name: str, sort: Sort, *, corpora: Sequence[str] = ()) -> list[Hit]:
        """Return all passages of a pass, op, option or symbol, what defines it first."""
        allowed = self.allowed(Query(corpora=tuple(corpora)))
        return self._hits(self.exact([Named(name, sort)], allowed), None)

    def near(self, name: str, sort: Sort) -> list[str]:
        """Return known names like `name`."""
        return self.names.near(name, sort)

    def passage(self, id_: str) -> Passage | None:
        """Return the passage of an id: of today's commit, or of an earlier one while its text is still here.

        An id may name any lines inside one passage. Raises `BadInput` for what is no id.
        """
        found = _ID.match(id_)
        if not found:
            raise BadInput("search.not_an_id", id=id_)
        shelf, corpus, path = self.generation.shelf, found["corpus"], found["path"]
        first, last = int(found["first"]), int(found["last"] or found["first"])
        commits = {m.name: m.commit for m in self.manifest.corpora}
        if commits.get(corpus, "").startswith(found["commit"][:12]):
            rows = [r for r in shelf.by_place(corpus, path, first, last) if _holds(r.passage, first, last)]
            return rows[0].passage if rows else None
        key = shelf.former_key(corpus, found["commit"][:12], path, first, last)
        row = shelf.by_key(key) if key else None
        return row.passage if row else None

    def near_ids(self, id_: str) -> list[str]:
        """Return ids of the same file near the lines that were asked."""
        found = _ID.match(id_)
        if not found:
            return []
        first = int(found["first"])
        rows = self.generation.shelf.by_place(found["corpus"], found["path"], 1, 1 << 30)
        rows.sort(key=lambda r: abs(r.passage.start_line - first))
        return [r.passage.id for r in rows[:NEAR_NAMES]]

    def check_citation(self, id_: str, sha256: str) -> Passage | Refused:
        """Return the passage if the id opens and its text is the text that was cited."""
        try:
            passage = self.passage(id_)
        except BadInput:
            return Refused(id_, "not an id")
        if passage is None:
            return Refused(id_, "not in the index")
        if passage.sha256 != sha256:
            return Refused(id_, "text differs")
        # The row's key was made from its text: a passage edited in the store no longer answers to its own key.
        row = self.generation.shelf.by_key(passage.key)
        return passage if row is not None and row.passage == passage else Refused(id_, "text differs")

    def vector(self, text: str) -> Scores | None:
        """Return a question's vector, None for an index without vectors."""
        return self.embedder.embed_question(text) if self.embedder is not None else None

    def allowed(self, query: Query) -> npt.NDArray[np.bool_] | None:
        """Return the mask of rows that the query's corpora and kinds let through, None for all."""
        if not query.kinds and not query.corpora:
            return None
        columns = self.generation.columns
        mask = np.ones(len(columns), np.bool_)
        if query.corpora:
            names = [m.name for m in self.manifest.corpora]
            mask &= np.isin(columns["corpus"], [names.index(c) for c in query.corpora if c in names])
        if query.kinds:
            kinds = self.manifest.kinds
            mask &= np.isin(columns["kind"], [kinds.index(k) for k in query.kinds if k in kinds])
        return mask

    def exact(self, named: Iterable[Named], allowed: npt.NDArray[np.bool_] | None) -> Exact:
        """Return the rows of named things, with a value from 1 (defines it) down, in the order they are shown."""
        return self.names.exact(named, allowed)

    def _hits(self, scored: dict[int, tuple[float, tuple[str, ...]]], limit: int | None) -> list[Hit]:
        numbers = list(scored)[:limit] if limit is not None else list(scored)
        rows = self.generation.shelf.rows(numbers)
        return [Hit(r.passage, round(scored[r.row][0], 4), scored[r.row][1]) for r in rows]


def _given(query: Query) -> list[Named]:
    return [
        *(Named(name, "pass") for name in query.passes),
        *(Named(name, "op") for name in query.ops),
        *(Named(name, "option") for name in query.options),
        *(Named(text, "diagnostic") for text in query.diagnostics),
    ]


def _reasons(ranked: Ranked, lifted: tuple[float, tuple[str, ...]] | None) -> tuple[str, ...]:
    beside = (ranked.beside,) if ranked.beside else ()
    shown = tuple(f"{name} {value:.2f}" for name, value in ranked.parts)
    return (*(lifted[1] if lifted else ()), *beside, *shown)


def _holds(passage: Passage, first: int, last: int) -> bool:
    return passage.start_line <= first and last <= passage.end_line

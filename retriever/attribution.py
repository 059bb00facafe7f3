"""From a structure in the IR to the passages that explain it: exact look-up by pass, then ranking by its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from indexer.messages import Lang
from indexer.records import Passage, Relation
from indexer.shelf import Row
from indexer.words import has_chinese
from retriever.notes import cited_by
from retriever.query import understand
from retriever.rank import Asked, Weights, rank
from retriever.records import Hit, Query
from retriever.search import Index

# How much a passage says about why a pass did something, by what it is. A note says it in our words, the code proves
# it; a line of the catalogue only says that the pass exists.
_KIND_VALUE = {
    "note": 1.1, "pattern": 1.0, "pass_impl": 1.0, "code": 0.9, "pass_def": 0.7, "doc": 0.6, "option": 0.5,
    "op_def": 0.5, "python": 0.45, "test": 0.3, "catalog": 0.25,
}  # fmt: skip
_RELATION_VALUE: dict[Relation, float] = {
    "implements": 1.0, "uses": 0.9, "documents": 0.9, "defines": 0.8, "lowers": 0.6, "option_of": 0.5, "tests": 0.4,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """What can be tuned: links to the pass and citations of its card against the words.

    A card not asked for by name must have `card_words` of the best passage's words.

    `later_pass`: how fast later passes of the list count less. At most `per_kind` passages are of one kind while
    others are left, and `per_file` of one file.
    """

    link: float = 0.6
    words: float = 1.0
    symbol: float = 0.3
    note: float = 1.0
    card_words: float = 0.3
    cited: float = 0.8
    later_pass: float = 0.8
    per_kind: int = 2
    per_file: int = 2
    depth: int = 1000


DEFAULT_EVIDENCE = EvidenceWeights()
# Each passage for itself: a finding cites ranges, not files; a test counts as much as its words say.
_SINGLY = Weights(history=0.0, covered=0.0, test=1.0, header=1.0, document=1.0, file_share=(1.0,), repeat=(1.0,) * 50)

_Mask = npt.NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class Subject:
    """What evidence is sought for: passes (likeliest first), operations, and the words of the structure.

    `symptom` names the card about it; without a name, the card that fits best is taken. `corpora` limits to those of
    one target. Of a card's languages the one of `lang` is given.
    """

    passes: Sequence[str]
    ops: Sequence[str] = ()
    words: str = ""
    symptom: str = ""
    corpora: Sequence[str] = ()
    lang: Lang = "en"


def evidence_for(  # noqa: PLR0913, PLR0917 - the form its callers use
    index: Index, passes: Sequence[str], ops: Sequence[str], words: str, limit: int, symptom: str = "",
    corpora: Sequence[str] = (), lang: Lang = "en",
) -> list[Hit]:  # fmt: skip
    """Return what supports a finding: its card, the code the card cites, what is linked to the passes, then words."""
    return find_evidence(index, Subject(passes, ops, words, symptom, corpora, lang), limit)


def find_evidence(index: Index, subject: Subject, limit: int, weights: EvidenceWeights = DEFAULT_EVIDENCE) -> list[Hit]:
    """Return what supports a finding, best first, kinds and files mixed."""
    scores = _Scores(index, subject, weights)
    scores.add_links()
    scores.add_words()
    scores.add_note()
    return _mixed(scores.hits(50 * limit), limit, weights)


class _Scores:
    """Adds up what speaks for each row."""

    def __init__(self, index: Index, subject: Subject, weights: EvidenceWeights) -> None:
        self.index = index
        self.subject = subject
        self.weights = weights
        self.allowed: _Mask = index.allowed(Query(corpora=tuple(subject.corpora)))
        self.links: dict[int, float] = {}
        self.said: dict[int, float] = {}
        self.scores: dict[int, float] = {}
        self.why: dict[int, list[str]] = {}

    def add_links(self) -> None:
        """Add what the symbol graph links to the passes; a passage counts once, by its best link."""
        for place, name in enumerate(self.subject.passes):
            for row, relation in self.index.generation.shelf.named(name, "pass"):
                if self._may(row):
                    value = _RELATION_VALUE.get(relation, 0.3) * self.weights.later_pass**place
                    self.links[row] = max(value, self.links.get(row, 0.0))
                    self.why.setdefault(row, []).append(f"{relation} pass {name}")
        for row, value in self.links.items():
            self._add(row, self.weights.link * value)

    def add_words(self) -> None:
        """Add what the words find, the best with 1, and passages of symbols named among the words."""
        text = " ".join([self.subject.words, *self.subject.ops])
        if not text.strip():
            return
        question = understand(text, self.index.names.vocabulary)
        vector = self.index.vector(question.text)
        asked = Asked(question, vector, self.allowed, {})
        ranked = rank(self.index.generation, asked, self.weights.depth, _SINGLY)
        best = max((r.score for r in ranked), default=1.0)
        for found in ranked:
            self.said[found.row] = found.score / best
            self._add(found.row, self.weights.words * self.said[found.row], f"words {self.said[found.row]:.2f}")
        symbols = [named for named in question.named if named.sort in {"symbol", "op"}]
        for row, (value, reasons) in self.index.exact(symbols, self.allowed).items():
            self._add(row, self.weights.symbol * value, *reasons)

    def add_note(self) -> None:
        """Lift the card of the symptom in the user's language, and the code it cites; drop its other language."""
        notes = {r.row: r.passage for r in self._notes() if self._fits(r.passage)}
        best = max(notes, key=lambda row: self.said.get(row, 0.0), default=None)
        # Many cards speak of one pass; without the symptom's name, only one that shares its words is about it.
        if best is None or (not self.subject.symptom and self.said.get(best, 0.0) < self.weights.card_words):
            return
        self._add(best, self.weights.note, f"card {notes[best].path}")
        cited: dict[int, tuple[float, str]] = {}
        for found in cited_by(self.index.generation, notes[best]):
            if self._may(found.row) and found.value > cited.get(found.row, (0.0, ""))[0]:
                cited[found.row] = (found.value, found.why)
        for row, (value, why) in cited.items():
            self._add(row, self.weights.cited * value, why)

    def hits(self, limit: int) -> list[Hit]:
        """Return the best rows as hits, a passage's kind weighed in."""
        best = sorted(self.scores, key=lambda row: -self.scores[row])[:limit]
        rows = self.index.generation.shelf.rows(best)
        hits = [
            Hit(r.passage, round(self.scores[r.row] * _KIND_VALUE.get(r.passage.kind, 0.3), 4), tuple(self.why[r.row]))
            for r in rows
            if r.passage.kind != "note" or self._fits(r.passage)
        ]
        return sorted(hits, key=lambda hit: -hit.score)

    def _fits(self, note: Passage) -> bool:
        """Tell whether a card is in the user's language, and the one asked for where one was."""
        named = not self.subject.symptom or note.path == f"{self.subject.symptom}.md"
        return named and has_chinese(note.symbol) == (self.subject.lang == "zh")

    def _notes(self) -> list[Row]:
        shelf = self.index.generation.shelf
        named = shelf.paths_ending(f"{self.subject.symptom}.md") if self.subject.symptom else []
        rows = shelf.rows(named or sorted(self.links))
        return [row for row in rows if row.passage.kind == "note" and self._may(row.row)]

    def _may(self, row: int) -> bool:
        return self.allowed is None or bool(self.allowed[row])

    def _add(self, row: int, value: float, *why: str) -> None:
        self.scores[row] = self.scores.get(row, 0.0) + value
        self.why.setdefault(row, []).extend(why)


def _mixed(hits: list[Hit], limit: int, weights: EvidenceWeights) -> list[Hit]:
    """Take the best in order, passing over a third of a kind or file, and copies, while others are left."""
    taken: list[Hit] = []
    passed: list[Hit] = []
    texts: set[str] = set()
    for hit in hits:
        if hit.passage.sha256 in texts:
            continue
        texts.add(hit.passage.sha256)
        kinds = sum(t.passage.kind == hit.passage.kind for t in taken)
        files = sum((t.passage.corpus, t.passage.path) == (hit.passage.corpus, hit.passage.path) for t in taken)
        fits = kinds < weights.per_kind and files < weights.per_file
        (taken if fits and len(taken) < limit else passed).append(hit)
    return sorted([*taken, *passed[: limit - len(taken)]], key=lambda hit: -hit.score)

"""The passages of a model's round: the findings' evidence and what it asked for, by short names, in a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agent.diagnose import corpora_of, is_foreign
from agent.llm.records import CHARACTERS_A_TOKEN
from agent.records import Evidence, Finding
from indexer.records import Passage
from retriever.addressed import speaks_to_model
from retriever.query import MAX_QUESTION
from retriever.records import Query
from retriever.search import Index

# Of one passage in the first text, and of one that the model asks to see whole.
SHOWN_CHARACTERS = 2_400
WHOLE_CHARACTERS = 9_000
HITS_A_SEARCH = 4


@dataclass(slots=True)
class Shelf:
    """What the model has been given so far: only that it may cite. Text that speaks to a model is left out."""

    index: Index
    arch: str
    known: dict[str, Passage] = field(default_factory=dict)

    def pack(self, findings: Iterable[Finding], tokens: int) -> dict[str, str]:
        """Name the findings' passages, most severe first, while they fit; return what is shown of each."""
        shown: dict[str, str] = {}
        left = tokens * CHARACTERS_A_TOKEN
        for passage in _in_turn([[*self._cited(finding)] for finding in findings]):
            text = window(passage, SHOWN_CHARACTERS)
            if len(text) <= left and passage.id not in {p.id for p in self.known.values()}:
                shown[self.add(passage)] = text
                left -= len(text)
        return shown

    def add(self, passage: Passage) -> str:
        """Return the passage's name, a new one where it has none."""
        for name, known in self.known.items():
            if known.id == passage.id:
                return name
        name = f"P{len(self.known) + 1}"
        self.known[name] = passage
        return name

    def name_of(self, id_: str) -> str | None:
        """Return the name of a passage that was given."""
        return next((name for name, known in self.known.items() if known.id == id_), None)

    def find(self, query: str) -> list[tuple[str, Passage]]:
        """Search as a person would; what is found may be cited from now on."""
        hits = self.index.search(
            Query(query[:MAX_QUESTION], corpora=corpora_of(self.arch), target=self.arch), 2 * HITS_A_SEARCH
        )
        fit = [h.passage for h in hits if self._is_fit(h.passage)]
        return [(self.add(passage), passage) for passage in fit[:HITS_A_SEARCH]]

    def given(self, name: str) -> Passage | None:
        """Return the passage that a model means: by its name, with brackets or without, or by its id."""
        plain = name.strip(" []()\"'`")
        return self.known.get(plain) or next((p for p in self.known.values() if p.id == plain), None)

    def _cited(self, finding: Finding) -> Iterator[Passage]:
        for evidence in finding.evidence:
            passage = self.index.check_citation(evidence.passage, evidence.sha256)
            if isinstance(passage, Passage) and self._is_fit(passage):
                yield passage

    def _is_fit(self, passage: Passage) -> bool:
        return not speaks_to_model(passage.text) and not is_foreign(passage, self.arch)


def evidence_of(passage: Passage) -> Evidence:
    """Return a passage as evidence that a model cites."""
    return Evidence(passage.id, passage.sha256, ("cited by the model",))


def window(passage: Passage, characters: int) -> str:
    """Return the beginning of a passage, whole lines, with a mark where something is left out."""
    if len(passage.text) <= characters:
        return passage.text
    return passage.text[:characters].rpartition("\n")[0] + "\n[...]"


def _in_turn(rows: list[list[Passage]]) -> Iterator[Passage]:
    """Yield the first of each row, then the second of each: no finding takes the room of all."""
    for place in range(max(map(len, rows), default=0)):
        yield from (row[place] for row in rows if place < len(row))

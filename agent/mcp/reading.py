"""What a tool that only reads the index answers; every answer is bounded, and cut where it says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from agent.asking import ask, cut_remarks
from agent.knowledge import Answer, find_passage, search
from agent.knowledge_documents import HitDoc, search_doc
from indexer.errors import BadInput
from indexer.store import current_folder
from retriever.answer import shorten
from retriever.definitions import pass_of_class
from retriever.records import Hit, Query
from retriever.search import Index, open_knowledge_base

MAX_HITS = 50
# Of one passage in a list, and of one that is asked for by its id: a coding agent's context is what is scarce.
MAX_LISTED = 2_000
MAX_SHOWN = 60_000
# The parts of a pass's explanation, by what a passage is to the pass, and how many of each are given.
_PARTS = (
    ("definition", "defines", 3), ("implementation", "implements", 5), ("options", "option_of", 10),
    ("documents", "documents", 5), ("patterns", "lowers", 8), ("tests", "tests", 5), ("uses", "uses", 5),
)  # fmt: skip


class Reader:
    """The index in `store`, opened anew when a build has made a new generation; several threads may read."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._opening = Lock()
        self._index: Index | None = None
        self._folder: Path | None = None

    @property
    def index(self) -> Index:
        """Return the current index; raises `StoreError` where there is none, or it is damaged."""
        with self._opening:
            folder = current_folder(self._store)
            if self._index is None or folder != self._folder:
                self._index, self._folder = open_knowledge_base(self._store), folder
            return self._index

    def warm_up(self) -> None:
        """Open the index and load its model, so that the first question need not wait."""
        self.index.search(Query("warm"), 1)

    def search(self, query: Query, limit: int) -> dict[str, Any]:
        """Answer as `tritonkb search --json` does, each text cut to `MAX_LISTED` characters."""
        if not (query.text.strip() or query.passes or query.ops or query.options):
            raise BadInput("mcp.nothing_asked")
        text = shorten(query.text)
        answer = search(self.index, replace(query, text=text), max(1, min(limit, MAX_HITS)))
        asked = " ".join([text, *query.passes, *query.ops, *query.options]).strip()
        return {**_document(asked, answer, MAX_LISTED), "remarks": cut_remarks(query.text)}

    def ask(self, question: str) -> dict[str, Any]:
        """Answer as `tritonkb ask --json` does without a model, each hit's text cut to `MAX_LISTED` characters."""
        doc = ask(self.index, question)
        return {**doc.to_json(), "hits": _listed(doc.hits, MAX_LISTED)}

    def passage(self, id_: str) -> dict[str, Any]:
        """Answer with the whole passage of an id; raises `BadInput` for what is no id, or opens nothing."""
        answer = find_passage(self.index, id_)
        if not answer.hits:
            raise BadInput("mcp.no_passage", id=id_, near=", ".join(answer.near) or "-")
        (shown,) = _listed(search_doc(id_, answer).hits, MAX_SHOWN)
        return dict(shown["passage"])

    def explain_pass(self, name: str) -> dict[str, Any]:
        """Answer with what the index has of a pass, by what each passage is to it; raises `BadInput` for none.

        A pass may be called by its argument, or by the class, record or constructor that makes it.
        """
        asked, name = name, pass_of_class(self.index, name) or name
        hits = self.index.lookup(name, "pass")
        if not hits:
            near = ", ".join(self.index.near(asked, "pass"))
            raise BadInput("mcp.near_pass" if near else "mcp.no_pass", name=asked, near=near)
        parts: dict[str, list[Hit]] = {}
        for hit in hits:
            relation = hit.why[0].partition(" ")[0]
            parts.setdefault(relation, []).append(hit)
        found: dict[str, Any] = {"pass": name}
        for part, relation, limit in _PARTS:
            chosen = parts.get(relation, [])
            found[part] = _listed(search_doc(name, Answer(tuple(chosen[:limit]))).hits, MAX_LISTED)
            found["more"] = found.get("more", 0) + max(0, len(chosen) - limit)
        return found


def _document(asked: str, answer: Answer, most: int) -> dict[str, Any]:
    doc = search_doc(asked[:MAX_LISTED], answer)
    return {"query": doc.query, "hits": _listed(doc.hits, most), "near": doc.near}


def _listed(hits: Iterable[HitDoc], most: int) -> list[dict[str, Any]]:
    return [_cut(hit.to_json(), most) for hit in hits]


def _cut(hit: dict[str, Any], most: int) -> dict[str, Any]:
    """Cut the passage's text and say so: the hash beside it is of the whole text."""
    passage = hit["passage"]
    whole = len(passage["text"])
    return {**hit, "passage": {**passage, "text": passage["text"][:most], "cut": whole > most, "characters": whole}}

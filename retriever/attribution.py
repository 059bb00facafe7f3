"""From a structure in the IR to the passages that explain it: exact look-up by pass, then ranking by its words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from indexer.records import Relation
from retriever.query import understand
from retriever.rank import Asked, Weights, rank
from retriever.records import Hit, Query
from retriever.search import Index

# How much a passage says about why a pass did something, by what it is. A note says it in our words, the code proves
# it; a line of the catalogue only says that the pass exists.
_KIND_VALUE = {
    "note": 1.0, "pattern": 0.8, "pass_impl": 0.8, "pass_def": 0.6, "code": 0.5, "doc": 0.45, "option": 0.4,
    "op_def": 0.35, "python": 0.3, "test": 0.25, "catalog": 0.2,
}  # fmt: skip
_RELATION_VALUE: dict[Relation, float] = {
    "implements": 1.0, "defines": 0.9, "documents": 0.8, "uses": 0.7, "lowers": 0.6, "option_of": 0.5, "tests": 0.4,
}  # fmt: skip
# An earlier pass of the list is the likelier cause.
_LATER_PASS = 0.8
# The words decide inside a pass's passages: its own file has dozens.
_WORDS = 1.6
# At most so many passages of one kind, while others are left: a note, the code, the definition and a test say more.
PER_KIND = 2


def evidence_for(
    index: Index, passes: Sequence[str], ops: Sequence[str], words: str, limit: int, corpora: Sequence[str] = ()
) -> list[Hit]:
    """Return what supports a finding: passages of `passes` (likeliest first), ranked by `words` and `ops`.

    `corpora` limits to those of one target. Kinds are mixed: at most two of a kind while others are left.
    """
    found = _of_passes(index, passes, corpora)
    ranked = _by_words(index, " ".join([words, *ops]), corpora)
    scored: dict[int, tuple[float, tuple[str, ...]]] = {}
    for row, (value, why) in found.items():
        scored[row] = (value + _WORDS * ranked.get(row, 0.0), why)
    for row, value in ranked.items():
        if row not in scored:
            scored[row] = (value * 0.5, ("words of the structure",))
    order = sorted(scored, key=lambda row: -scored[row][0])
    hits = [
        Hit(r.passage, round(scored[r.row][0] * _KIND_VALUE.get(r.passage.kind, 0.3), 4), scored[r.row][1])
        for r in index.generation.shelf.rows(order[: 20 * limit])
    ]
    hits.sort(key=lambda hit: -hit.score)
    return _mixed(hits, limit)


def _of_passes(index: Index, passes: Sequence[str], corpora: Sequence[str]) -> dict[int, tuple[float, tuple[str, ...]]]:
    """Return the rows of the passes with a value from 1 down, and why."""
    allowed = _allowed(index, corpora)
    found: dict[int, tuple[float, tuple[str, ...]]] = {}
    for place, name in enumerate(passes):
        for row, relation in index.generation.shelf.named(name, "pass"):
            if allowed is None or allowed[row]:
                value = _RELATION_VALUE.get(relation, 0.3) * _LATER_PASS**place
                old = found.get(row, (0.0, ()))
                found[row] = (max(value, old[0]), (*old[1], f"{relation} pass {name}"))
    return found


def _by_words(index: Index, text: str, corpora: Sequence[str]) -> dict[int, float]:
    """Return the rows that the words find, the best with 1."""
    if not text.strip():
        return {}
    question = understand(text, index.generation.shelf)
    # Each passage for itself: a finding cites ranges, not files.
    weights = Weights(depth=1000, test=1.0, file_share=(1.0,), repeat=(1.0,) * 20)
    vector = np.asarray(index.embedder.embed([text])[0], np.float32)
    ranked = rank(index.generation, Asked(question, vector, _allowed(index, corpora), {}), 600, weights)
    best = max((r.score for r in ranked), default=1.0)
    return {r.row: r.score / best for r in ranked}


def _allowed(index: Index, corpora: Sequence[str]) -> np.ndarray | None:
    return index.allowed(Query(corpora=tuple(corpora)))


def _mixed(hits: list[Hit], limit: int) -> list[Hit]:
    """Take the best in order, but no third of a kind (or a near-copy) while another kind is left."""
    taken: list[Hit] = []
    texts: set[str] = set()
    for hit in hits:
        same = sum(t.passage.kind == hit.passage.kind for t in taken)
        if same < PER_KIND and hit.passage.sha256 not in texts and len(taken) < limit:
            taken.append(hit)
            texts.add(hit.passage.sha256)
    rest = [h for h in hits if h not in taken and h.passage.sha256 not in texts]
    return sorted([*taken, *rest[: limit - len(taken)]], key=lambda hit: -hit.score)

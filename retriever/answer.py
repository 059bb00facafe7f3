"""An answer without a model: the lines of passages that answer, the facts they state, or that nothing here answers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from indexer.records import Passage
from indexer.words import words_of
from retriever.confidence import Confidence, confidence
from retriever.facts import Conflict, OptionFact, conflicts, option_facts
from retriever.query import understand
from retriever.records import Hit, Query
from retriever.search import Index

HITS = 10
MAX_QUOTES = 3
# A quote must have this share of the best one's weight of the question's words.
QUOTE_SHARE = 0.5
# Lines of a quote: code is read in lines, prose in paragraphs that are often one line.
CODE_LINES = 10
PROSE_LINES = 4
# What one more line costs, as a share of an average word's weight: a quote ends where its words do.
LINE_COST = 0.35
_LONG = re.compile(r"[(\[{,=&|+]\s*$|\\$")


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines `first..last` (1-based, in the file) of a passage that answer, and the weight of the words they share."""

    passage: Passage
    first: int
    last: int
    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Extract:
    """What the index says to a question.

    `answered` is False where it does not hold the answer: then facts and quotes are empty, and `hits` are only near.
    """

    question: str
    confidence: Confidence
    facts: tuple[OptionFact, ...]
    conflicts: tuple[Conflict, ...]
    quotes: tuple[Quote, ...]
    hits: tuple[Hit, ...]

    @property
    def answered(self) -> bool:
        """Tell whether the index holds the answer, as far as its confidence says."""
        return self.confidence.is_enough


def extract_answer(index: Index, query: Query) -> Extract:
    """Answer `query.text` from the index; corpora and kinds limit it as in a search."""
    hits = tuple(index.search(query, HITS))
    sure = confidence(index, query.text, hits)
    if not sure.is_enough:
        return Extract(query.text, sure, (), (), (), hits)
    facts = _option_facts(index, query)
    quotes = _quotes(index, query.text, hits)
    return Extract(query.text, sure, tuple(facts), tuple(conflicts(facts)), tuple(quotes), hits)


def _option_facts(index: Index, query: Query) -> list[OptionFact]:
    """Return what the index states of the options that the question names."""
    named = [n.name for n in understand(query.text, index.generation.shelf).named if n.sort == "option"]
    found: list[OptionFact] = []
    for name in dict.fromkeys([*query.options, *named]):
        passages = [hit.passage for hit in index.lookup(name, "option", corpora=query.corpora)]
        found += option_facts(name, passages)
    return found


def _quotes(index: Index, question: str, hits: Sequence[Hit]) -> list[Quote]:
    weights = word_weights(index, question)
    quotes = [quote for hit in hits if (quote := best_lines(hit.passage, weights)) is not None]
    best = max((q.weight for q in quotes), default=0.0)
    chosen: list[Quote] = []
    for quote in quotes:  # in the order of the ranking, which knows more than shared words
        same = any(quote.text.split() == other.text.split() for other in chosen)
        if quote.weight >= QUOTE_SHARE * best and not same:
            chosen.append(quote)
    return chosen[:MAX_QUOTES]


def word_weights(index: Index, text: str) -> dict[str, float]:
    """Return how much each word of `text` tells: the logarithm of how rare it is among the passages."""
    body = index.generation.body
    return {word: math.log(1 + body.count / (1 + body.frequency(word))) for word in set(words_of(text))}


def best_lines(passage: Passage, weights: dict[str, float]) -> Quote | None:
    """Return the lines of `passage` that hold most of the question in least space; None where they hold nothing."""
    lines = passage.text.split("\n")
    found = [set(words_of(line)) & weights.keys() for line in lines]
    prose = passage.language in {"markdown", "rst", "text"}
    most = PROSE_LINES if prose else CODE_LINES
    cost = LINE_COST * sum(weights.values()) / max(1, len(weights))
    best: tuple[float, int, int] | None = None
    for first, words in enumerate(found):
        if not words:
            continue
        seen: set[str] = set()
        for last in range(first, min(first + most, len(lines))):
            seen |= found[last]
            value = sum(weights[w] for w in seen) - cost * (last - first)
            if best is None or value > best[0] + 1e-9:
                best = (value, first, last)
    if best is None:
        return None
    _, first, last = best
    while not prose and last + 1 < len(lines) and last - first < most and _LONG.search(lines[last]):
        last += 1
    shared = set().union(*found[first : last + 1])
    text = "\n".join(lines[first : last + 1])
    return Quote(passage, passage.start_line + first, passage.start_line + last, text, sum(weights[w] for w in shared))

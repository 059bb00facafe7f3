"""An answer without a model: facts that passages state, the lines that answer, or that nothing here answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from indexer.diagnostics import Templates
from indexer.graph.messages import messages_of
from indexer.records import Passage
from indexer.words import has_chinese, words_of
from retriever.addressed import speaks_to_model, without_orders
from retriever.conditions import Reached, emitted, reached
from retriever.confidence import Confidence, confidence
from retriever.datatypes import TypesFact, asks_for_types, says_of_types, type_facts, types_in
from retriever.definitions import Definition, definition_of, pass_of_class
from retriever.devices import DeviceFact, device_facts
from retriever.facts import Conflict, OptionFact, conflicts, option_facts
from retriever.query import MAX_QUESTION, Understood, understand
from retriever.quotes import GAP, Quote, best_lines
from retriever.records import Hit, Query
from retriever.search import Index
from retriever.twins import language_mark, translations
from retriever.wanted import wanted_options, wanted_passes

HITS = 10
MAX_QUOTES = 3
# Notes are our own words: what they rely on is to be seen beside them.
MAX_NOTES = 1
# Of a long question its last characters are read too.
LAST = 2_000
# A hit that would be quoted: one that is withheld among them is told.
NEAR = 5
# A quote must have this share of the best one's weight of the question's words.
QUOTE_SHARE = 0.5
# Two quotes that share so many of their words are one.
SAME_WORDS = 0.8
# What a name still weighs in the choice of lines once a fact or a definition has been told of it.
TOLD_NAME = 0.3
MAX_DEFINITIONS = 3
# What an English word weighs that the glossary has for a Chinese one.
TRANSLATED = 0.5
MAX_PLACES = 3
MAX_TYPES = 4
MAX_DEVICES = 4
# A question of what a thing is: sentences answer that before code does.
_ABOUT = re.compile(
    r"\b(?:what (?:is|are)|what does \w+ mean|meaning of|difference between)\b|是什么|什么是|什么意思|含义|区别|作用",
    re.IGNORECASE,
)
_SENTENCES = frozenset({"markdown", "rst", "text", "tablegen"})
_CLASS = re.compile(r"\b(?:\w+::)*\w*[a-z0-9][A-Z]\w*", re.ASCII)
_ADDS = re.compile(r"\badd(?:Nested)?Pass\b")
# A diagnostic inside a question: masking would take what stands in quotes for a name.
_QUOTED = re.compile(r"[\"“”`](?P<text>[^\"“”`\n]{12,})[\"“”`]")


@dataclass(frozen=True, slots=True)
class Extract:
    """What the index says to a question.

    `answered` is False where it does not hold the answer: then facts and quotes are empty, and `hits` are only near.
    `emitters` are the lines that emit the diagnostic of the question, `pipelines` those that add the pass it names.
    `withheld` are hits that are not quoted because they give orders to a language model; `orders` are such in the
    question itself, which `question` is without. `cut` counts the characters of a long question that were left out.
    """

    question: str
    confidence: Confidence
    hits: tuple[Hit, ...]
    facts: tuple[OptionFact, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    definitions: tuple[Definition, ...] = ()
    pipelines: tuple[Reached, ...] = ()
    emitters: tuple[Reached, ...] = ()
    quotes: tuple[Quote, ...] = ()
    withheld: tuple[Passage, ...] = ()
    types: tuple[TypesFact, ...] = ()
    devices: tuple[DeviceFact, ...] = ()
    orders: tuple[str, ...] = ()
    cut: int = 0

    @property
    def answered(self) -> bool:
        """Tell whether the index holds the answer, as far as its confidence says."""
        return self.confidence.is_enough

    @property
    def places(self) -> list[tuple[Passage, int]]:
        """Return where what is stated stands, as passage and line, in the order of telling."""
        return [
            *((f.passage, f.line) for f in self.facts), *((t.passage, t.line) for t in self.types),
            *((d.passage, d.line) for d in self.devices),
            *((d.passage, d.line) for d in self.definitions),
            *((r.passage, r.since) for r in (*self.pipelines, *self.emitters)),
        ]  # fmt: skip


def shorten(question: str) -> str:
    """Leave out the middle of what is longer than `MAX_QUESTION`: a log is pasted before or after what is asked."""
    if len(question) <= MAX_QUESTION:
        return question
    break_ = f"\n{GAP}\n"
    return question[: MAX_QUESTION - LAST - len(break_)] + break_ + question[-LAST:]


def extract_answer(index: Index, query: Query) -> Extract:
    """Answer `query.text` from the index; corpora and kinds limit it as in a search."""
    given, (text, orders) = len(query.text), without_orders(shorten(query.text))
    if not text:
        return Extract(query.text[:MAX_QUESTION], Confidence(0.0), (), orders=orders)
    query = replace(query, text=text)
    found = _extract(index, query)
    return replace(found, orders=orders, cut=max(0, given - MAX_QUESTION))


def _extract(index: Index, query: Query) -> Extract:
    hits, asked = tuple(index.search(query, HITS)), understand(query.text, index.names.vocabulary)
    withheld = tuple(hit.passage for hit in hits[:NEAR] if speaks_to_model(hit.passage.text))
    sure = confidence(index, asked, hits)
    if not sure.is_enough:
        return Extract(query.text, sure, hits)
    facts = _option_facts(index, query, asked) or wanted_options(index, query)
    named = tuple(islice(_definitions(index, query, asked), MAX_DEFINITIONS))
    definitions = named or tuple(wanted_passes(index, query))
    return Extract(
        query.text, sure, hits, tuple(facts), tuple(conflicts(facts)), definitions,
        tuple(islice(_pipelines(index, query, named), MAX_PLACES)),
        tuple(islice(_emitters(index, query), MAX_PLACES)),
        tuple(_quotes(index, asked, _fit(hits, withheld), _told(facts, definitions))), withheld,
        types=tuple(islice(type_facts(index, query.text, query.corpora), MAX_TYPES)),
        devices=tuple(islice(device_facts(index, query.text, query.corpora), MAX_DEVICES)),
    )  # fmt: skip


def _fit(hits: Sequence[Hit], withheld: Sequence[Passage]) -> list[Hit]:
    return [hit for hit in hits if hit.passage not in withheld]


def _told(facts: Sequence[OptionFact], definitions: Sequence[Definition]) -> list[str]:
    return [*(f.name for f in facts), *(d.name for d in definitions)]


def _named(index: Index, query: Query, asked: Understood, sort: str) -> list[str]:
    given = {"option": query.options, "pass": query.passes, "op": query.ops}[sort]
    found = [n.name for n in asked.named if n.sort == sort]
    if sort == "pass":
        classes = (pass_of_class(index, m[0]) for m in _CLASS.finditer(query.text))
        found += [name for name in classes if name is not None]
    return list(dict.fromkeys([*given, *found]))


def _option_facts(index: Index, query: Query, asked: Understood) -> list[OptionFact]:
    """Return what the index states of the options that the question names."""
    return [
        fact
        for name in _named(index, query, asked, "option")
        for fact in option_facts(name, [hit.passage for hit in index.lookup(name, "option", corpora=query.corpora)])
    ]


def _definitions(index: Index, query: Query, asked: Understood) -> Iterator[Definition]:
    """Yield what the named passes and operations say they are; what two compilers both say comes once."""
    seen: set[tuple[str, str, str]] = set()
    for sort in ("pass", "op"):
        for name in _named(index, query, asked, sort):
            for hit in index.lookup(name, "pass" if sort == "pass" else "op", corpora=query.corpora):
                if not hit.why[0].startswith("defines"):
                    continue
                found = definition_of(name, hit.passage)
                if found and (key := (name, found.summary, found.sentence)) not in seen:
                    seen.add(key)
                    yield found


def _pipelines(index: Index, query: Query, definitions: Sequence[Definition]) -> Iterator[Reached]:
    """Yield where pipelines add the defined passes, and under which conditions."""
    allowed = index.allowed(query)
    seen = set()
    for name in dict.fromkeys(d.constructor for d in definitions if d.constructor):
        rows = np.flatnonzero(index.generation.body.score([name.lower()]))
        for row in index.generation.shelf.rows([int(r) for r in rows if allowed is None or allowed[r]]):
            for number in _adding_lines(row.passage, name):
                found = reached(row.passage, number)
                if (key := (row.passage.path, found.conditions)) not in seen:
                    seen.add(key)
                    yield found


def _adding_lines(passage: Passage, constructor: str) -> Iterator[int]:
    lines = passage.text.split("\n")
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        if passage.language == "cpp" and f"{constructor}(" in line and _ADDS.search(f"{before} {line}"):
            yield number


def _emitters(index: Index, query: Query) -> Iterator[Reached]:
    """Yield the lines that emit the diagnostics in the question, also where it quotes them."""
    seen = set()
    for text in (query.text, *(m["text"] for m in _QUOTED.finditer(query.text))):
        for hit in index.lookup(text, "diagnostic", corpora=query.corpora):
            if hit.passage.kind == "test":
                continue
            for template in Templates(messages_of(hit.passage)).find(text)[:1]:
                found = emitted(hit.passage, template)
                if found and (key := (found.conditions, found.passage.path.rpartition("/")[2])) not in seen:
                    seen.add(key)
                    yield found


def _quotes(index: Index, asked: Understood, hits: Sequence[Hit], told: Sequence[str]) -> list[Quote]:
    """Return the quotes in the order of the ranking, which knows more than shared words; `told` names say less."""
    names = {word for name in told for word in words_of(name)}
    weights = {w: v * TOLD_NAME if w in names else v for w, v in question_weights(index, asked).items()}
    quotes = [q for hit in hits if (q := best_lines(hit.passage, weights)) is not None]
    if asks_for_types(asked.text):
        quotes = [q for q in quotes if says_of_types(q.text, types_in(asked.text))] or quotes
    elif _ABOUT.search(asked.text):
        quotes.sort(key=lambda quote: quote.passage.language not in _SENTENCES)
    best = max((q.weight for q in quotes), default=0.0)
    quotes = [q for q in quotes if q.weight >= QUOTE_SHARE * best]
    chosen: list[Quote] = []
    for quote in _in_language(index, quotes, weights, chinese=has_chinese(asked.text)):
        is_full = quote.passage.kind == "note" and sum(q.passage.kind == "note" for q in chosen) >= MAX_NOTES
        if not is_full and not any(_same(quote, other) for other in chosen):
            chosen.append(quote)
    return chosen[:MAX_QUOTES]


def _in_language(index: Index, quotes: Sequence[Quote], weights: dict[str, float], *, chinese: bool) -> Iterator[Quote]:
    """Yield the quotes, each document in the language of the question where it is written in both."""
    marks = [language_mark(q.passage) for q in quotes]
    asked = {mark[0] for mark in marks if mark is not None and mark[1] == chinese}
    for quote, mark in zip(quotes, marks, strict=True):
        if mark is None or mark[1] == chinese:
            yield quote
        elif mark[0] not in asked:
            yield _translated(index, quote, weights) or quote


def _translated(index: Index, quote: Quote, weights: dict[str, float]) -> Quote | None:
    """Return the best lines of the document in its other language, if they hold about as much of the question.

    Less will do for Chinese lines: a Chinese question's words are few, and the sources' English is read out of them.
    """
    found = [q for p in translations(index, quote.passage) if (q := best_lines(p, weights)) is not None]
    best = max(found, key=lambda q: q.weight, default=None)
    if best is None:
        return None
    return best if best.weight >= quote.weight * (TRANSLATED if has_chinese(best.text) else 1.0) else None


def _same(one: Quote, other: Quote) -> bool:
    """Tell whether two quotes overlap, or say the same but for a few words."""
    if (one.passage.corpus, one.passage.path) == (other.passage.corpus, other.passage.path):
        return one.first <= other.last and other.first <= one.last
    a, b = set(one.text.split()), set(other.text.split())
    return len(a & b) >= SAME_WORDS * max(1, len(a | b))


def question_weights(index: Index, asked: Understood) -> dict[str, float]:
    """Return the weights of a question's words; a Chinese one's in the sources' English weigh less than its own."""
    weights = word_weights(index, asked.text)
    body = index.generation.body
    for word in (*asked.translated, *asked.meant) if has_chinese(asked.text) else ():
        weights.setdefault(word, TRANSLATED * math.log(1 + body.count / (1 + body.frequency(word))))
    return weights


def word_weights(index: Index, text: str) -> dict[str, float]:
    """Return how much each word of `text` tells: the logarithm of how rare it is among the passages."""
    body = index.generation.body
    return {word: math.log(1 + body.count / (1 + body.frequency(word))) for word in set(words_of(text))}

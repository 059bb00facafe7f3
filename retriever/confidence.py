"""Whether the index holds the answer: what in the question speaks against it, and how much of it the hits cover.

A ranking always finds something. What tells that it found nothing is less the score than the question: a pass, an
option or a product that nothing here has ever named, or a field that no corpus is about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from weakref import WeakKeyDictionary

from indexer.toml import parse_toml
from indexer.words import has_chinese, split_identifier, words_of
from retriever.records import Hit
from retriever.search import Index

# Below this an answer is declined.
ENOUGH = 0.5
# The passages that count as what the ranking found.
BEST = 5


@dataclass(frozen=True, slots=True)
class Doubts:
    """What each thing takes from a confidence of 1. Chosen with `bench/declining.py` on the questions of development.

    `name`: a pass, option, op or identifier that stands nowhere in the index. `product`: a capitalised word, or a Latin
    one in a Chinese question, that does not either. `word`: any other word. `foreign`: a word of another field that no
    good hit has; `covered`: one that a hit has. `uncovered`: the share of the question's words, by weight, that no good
    hit has, beyond `usual`.
    """

    name: float = 0.6
    product: float = 0.45
    word: float = 0.06
    foreign: float = 0.6
    covered: float = 0.25
    uncovered: float = 0.8
    usual: float = 0.75
    usual_chinese: float = 0.92
    usual_pasted: float = 0.3


DEFAULT_DOUBTS = Doubts()

_NAME = re.compile(
    r"(?<![\w.-])(?:(?P<flag>-{1,2}[A-Za-z][\w-]+)|(?P<op>[a-z_]+(?:\.[a-z_0-9]+)+)"
    r"|(?P<hyphened>[a-z][a-z0-9]*(?:-[a-z0-9]+){2,})|(?P<identifier>[A-Za-z_]\w*))", re.ASCII
)  # fmt: skip
_INNER = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_|[A-Za-z]\d")
# An error code; a size with its unit is the user's own.
_LONG_NUMBER = re.compile(r"(?<![\w.])\d{5,}(?![\w.]|\s*(?:bits?|bytes?|[KMG]i?B|位|字节))")
_VALUE = re.compile(r"(?<=[\w-]=)[a-z]+(?:-[a-z]+)+")
# What is pasted from a compiler's output: most of its words must stand in one passage.
_PASTED = re.compile(r"^\s*(?:[\w./:<>-]+:\s*)?(?:error|warning|fatal)\s*:", re.IGNORECASE)
# As many passes or options must begin with a name's first part before an unknown name of three parts is one.
MIN_SIBLINGS = 5
_JOINING = frozenset({"to", "by", "of", "and", "or", "in", "per", "for", "a", "the", "at", "on"})
_SIBLINGS: WeakKeyDictionary[Index, dict[str, int]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure it is that the index answers, 0 to 1; `unknown` are names in the question that nothing here has."""

    value: float
    unknown: tuple[str, ...] = ()

    @property
    def is_enough(self) -> bool:
        """Tell whether to answer."""
        return self.value >= ENOUGH


def confidence(index: Index, question: str, hits: Sequence[Hit], doubts: Doubts = DEFAULT_DOUBTS) -> Confidence:
    """Say how sure it is that the index answers `question`, of which `hits` are the best passages."""
    if not hits:
        return Confidence(0.0)
    names = tuple(dict.fromkeys(_unknown_names(index, question)))
    products, words = _unknown_words(index, question, names)
    found = [_text(hit) for hit in hits[:BEST]]
    total = doubts.name * len(names) + doubts.product * len(products) + doubts.word * len(words)
    for word in foreign_words(question):
        total += doubts.covered if any(_has(text, word) for text in found) else doubts.foreign
    uncovered = 1 - _covered(index, question, found)
    usual = doubts.usual
    if has_chinese(question):  # pairs of characters, of which the English source has none
        usual = doubts.usual_chinese
    elif _PASTED.match(question):
        usual = doubts.usual_pasted
    total += doubts.uncovered * max(0.0, uncovered - usual) / (1 - usual)
    return Confidence(max(0.0, 1 - total), (*names, *products))


def foreign_words(question: str) -> tuple[str, ...]:
    """Return the words of other fields in `question`."""
    lower = question.lower()
    latin = set(re.findall(r"[a-z][a-z0-9+-]*", lower))
    return tuple(w for w in _foreign() if (w in latin if w.isascii() and " " not in w else w in lower))


@cache
def _foreign() -> tuple[str, ...]:
    table = parse_toml(resources.files("retriever").joinpath("foreign.toml").read_text(encoding="utf-8"))
    return tuple(word for group in table.values() for word in group["words"])


def _unknown_names(index: Index, question: str) -> Iterator[str]:
    """Yield the names of passes, options, ops and identifiers in `question` that stand nowhere in the index."""
    shelf, body = index.generation.shelf, index.generation.body
    for m in _NAME.finditer(question):
        text = m[0].lstrip("-")
        if m.lastgroup == "op":
            if not shelf.named(text, "op") and not all(
                body.knows(w) for part in text.split(".") for w in words_of(part)
            ):
                yield text
        elif (m.lastgroup == "identifier" and not _INNER.search(text)) or (
            m.lastgroup == "hyphened" and not _like_a_pass(index, text)
        ):
            continue
        elif not _is_known(index, text):
            yield text
    yield from (m[0] for m in _LONG_NUMBER.finditer(question) if not body.knows(m[0]))
    yield from (m[0] for m in _VALUE.finditer(question) if not _is_known(index, m[0]))


def _is_known(index: Index, name: str) -> bool:
    body = index.generation.body
    return any(
        body.knows(form) for form in {name.lower(), name.lower().replace("-", "_"), name.lower().replace("_", "-")}
    )


def _like_a_pass(index: Index, name: str) -> bool:
    """Tell a name of three parts and more from English words joined by hyphens, such as one-to-two."""
    parts = name.split("-")
    prose = not _JOINING.isdisjoint(parts) and all(index.generation.body.knows(w) for p in parts for w in words_of(p))
    return not prose and _siblings(index).get(parts[0], 0) >= MIN_SIBLINGS


def _siblings(index: Index) -> dict[str, int]:
    """Return how many passes and options begin with each first part."""
    if index in _SIBLINGS:
        return _SIBLINGS[index]
    firsts = _SIBLINGS.setdefault(index, {})
    shelf = index.generation.shelf
    for name in (*shelf.names("pass"), *shelf.names("option")):
        part = name.partition("-")[0]
        firsts[part] = firsts.get(part, 0) + 1
    return firsts


def _unknown_words(index: Index, question: str, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the unknown words that name a product, and the others; parts of unknown names are counted there."""
    body = index.generation.body
    chinese = has_chinese(question)
    inside = {part for name in names for part in split_identifier(name)}
    products: list[str] = []
    words: list[str] = []
    for m in re.finditer(r"[A-Za-z][A-Za-z0-9+]*", question):
        known = all(body.knows(word) for word in words_of(m[0]))
        if known or len(m[0]) < 3 or m[0].lower() in inside:
            continue
        begins = m.start() == 0 or question[: m.start()].rstrip()[-1:] in {".", "?", "!", ":"}
        (products if (chinese or (m[0][0].isupper() and not begins)) else words).append(m[0])
    return tuple(dict.fromkeys(products)), tuple(dict.fromkeys(words))


def _text(hit: Hit) -> str:
    p = hit.passage
    return f"{p.path} {p.symbol} {p.natural} {p.text}"


def _has(text: str, word: str) -> bool:
    return word in text.lower()


def _covered(index: Index, question: str, found: Sequence[str]) -> float:
    """Return the largest share of the question's words, by how rare they are, that one good hit holds."""
    body = index.generation.body
    weights = {word: math.log(1 + body.count / (1 + body.frequency(word))) for word in set(words_of(question))}
    total = sum(weights.values())
    if not total:
        return 0.0
    return max((sum(weights[w] for w in weights.keys() & set(words_of(text))) for text in found), default=0.0) / total

"""Whether the index holds the answer: what in the question speaks against it, and how near the passages come.

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

import numpy as np
import numpy.typing as npt

from indexer.embed import Vectors
from indexer.toml import parse_toml
from indexer.words import has_chinese, split_identifier, words_of
from retriever.definitions import pass_of_class
from retriever.dialects import strangers
from retriever.query import Understood
from retriever.records import Hit
from retriever.search import Index
from retriever.weighed import weighed_words

# Below this an answer is declined.
ENOUGH = 0.5
# The passages that count as what the ranking found.
BEST = 5


@dataclass(frozen=True, slots=True)
class Doubts:
    """What each sign takes from a confidence, in logits; a logistic regression by `bench/declining.py --fit`.

    `name`: an unknown pass, option, op or identifier. `product`: an unknown word that is capitalised, or Latin in a
    Chinese question. `unknown`: the share of the question's words, by weight, that no passage has; `rare`: that at most
    `RARE` passages have. `foreign`: a word of another field that no good hit has; `covered`: one that a hit has. `far`:
    how much farther the nearest passages are than a passage's own neighbours. `latin` gives back for each Latin word
    that many passages have, `known` for each pass, op or option that the index has.
    """

    start: float
    name: float
    product: float
    unknown: float
    rare: float
    foreign: float
    covered: float
    far: float
    latin: float
    known: float


# Of each count so many are told apart.
MOST = 2
ENGLISH = Doubts(5.87, 4.64, 1.25, 2.14, 4.56, 2.91, 2.66, 6.08, 0.0, 1.98)
# Any Chinese text is near to any other for the small models: how far the passages are tells nothing. Few Chinese
# questions to fit on name a thing that is known: the English value is taken for it. 0.4 of `start` is more ease.
CHINESE = Doubts(3.9, 7.09, 3.34, 4.02, 3.39, 3.67, 0.0, 0.0, 1.55, 1.98)
# A word in at most so many passages is rare, in a small index one in such a share of them.
RARE = 20
RARE_SHARE = 2000
# The passages whose neighbours tell how near is near, and how many neighbours.
SAMPLE = 64
NEIGHBOURS = 10
# Taken for `far` where the index has no vectors: the mean of the answerable questions.
USUAL_FAR = 0.35
_NEARNESS: WeakKeyDictionary[Index, tuple[float, float]] = WeakKeyDictionary()

_NAME = re.compile(
    r"(?<![\w.-])(?:(?P<flag>-{1,2}[A-Za-z][\w-]+)|(?P<op>[a-z_]+(?:\.[a-z_0-9]+)+)"
    r"|(?P<hyphened>[a-z][a-z0-9]*(?:-[a-z0-9]+){2,})|(?P<identifier>[A-Za-z_]\w*))", re.ASCII
)  # fmt: skip
_INNER = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_|[A-Za-z]\d")
# An error code; a size with its unit is the user's own.
_LONG_NUMBER = re.compile(r"(?<![\w.])\d{5,}(?![\w.]|\s*(?:bits?|bytes?|[KMG]i?B|位|字节))")
_VALUE = re.compile(r"(?<=[\w-]=)[a-z]+(?:-[a-z]+)+")
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


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for and against an answer: see `Doubts` for each; `emitted` where it holds a known diagnostic.

    An operation of Triton that is not indexed is an unknown name; MLIR's are lowered in every corpus. A diagnostic of
    either says nothing: any dialect's operation may fail to be legalized.
    """

    names: tuple[str, ...]
    products: tuple[str, ...]
    unknown: float
    rare: float
    foreign: int
    covered: int
    far: float
    latin: int
    known: int
    emitted: bool
    chinese: bool


def confidence(index: Index, asked: Understood, hits: Sequence[Hit]) -> Confidence:
    """Say how sure it is that the index answers a question, of which `hits` are the best passages."""
    return weigh(read_signs(index, asked, hits)) if hits else Confidence(0.0)


def read_signs(index: Index, asked: Understood, hits: Sequence[Hit]) -> Signs:
    """Read what in the question and its best hits speaks for and against an answer."""
    body, question = index.generation.body, asked.text
    rare = min(RARE, body.count // RARE_SHARE)
    counted = weighed_words(question)
    words = {w: max(body.frequency(w), rare + 1 if w in counted.meant else 0) for w in counted.words}
    weights = {word: math.log(1 + body.count / (1 + found)) for word, found in words.items()}
    total = sum(weights.values()) or 1.0
    foreigners = strangers(index, question)
    names = tuple(dict.fromkeys([*(s.op for s in foreigners if s.corpus != "mlir"), *_unknown_names(index, question)]))
    foreign = foreign_words(question)
    texts = [_text(hit).lower() for hit in hits[:BEST]]
    covered = sum(any(word in text for text in texts) for word in foreign)
    return Signs(
        names, _products(index, question, names),
        sum(weights[w] for w, found in words.items() if not found) / total,
        sum(weights[w] for w, found in words.items() if found <= rare) / total,
        len(foreign) - covered, covered, _far(index, question),
        sum(word.isascii() and found > rare for word, found in words.items()),
        sum(n.sort in {"pass", "op", "option"} for n in asked.named),
        not foreigners and bool(index.lookup(question, "diagnostic")), has_chinese(question),
    )  # fmt: skip


def weigh(signs: Signs, doubts: Doubts | None = None) -> Confidence:
    """Weigh the signs to a confidence, with the doubts of the question's language unless others are given."""
    doubts = doubts or (CHINESE if signs.chinese else ENGLISH)
    unknown = tuple(dict.fromkeys([*signs.names, *signs.products]))  # a name may be a product too
    if signs.emitted:
        return Confidence(1.0, unknown)
    total = doubts.start - sum(value * getattr(doubts, name) for name, value in features(signs).items())
    return Confidence(1 / (1 + math.exp(-total)), unknown)


def features(signs: Signs) -> dict[str, float]:
    """Return the numbers that `Doubts` weigh, by name."""
    return {
        "name": min(len(signs.names), MOST), "product": min(len(signs.products), MOST), "unknown": signs.unknown,
        "rare": signs.rare, "foreign": min(signs.foreign, MOST), "covered": min(signs.covered, MOST), "far": signs.far,
        "latin": -min(signs.latin, MOST), "known": -min(signs.known, MOST),
    }  # fmt: skip


def _far(index: Index, question: str) -> float:
    """Return how far the nearest passages are: 0 as near as a passage's neighbours, 1 as far as any two passages."""
    vector = index.vector(question)
    if vector is None:
        return USUAL_FAR
    if index not in _NEARNESS:
        _NEARNESS[index] = _nearness(index.generation.vectors)
    near, any_ = _NEARNESS[index]
    found = float(_nearest(index.generation.vectors @ vector).mean())
    return (near - found) / max(near - any_, 1e-6)


def _nearness(vectors: Vectors) -> tuple[float, float]:
    """Return how near a passage's neighbours are, and any two passages, from some of them."""
    sample = np.linspace(0, len(vectors) - 1, min(SAMPLE, len(vectors))).astype(int)
    scores = vectors[sample] @ vectors.T
    scores[np.arange(len(sample)), sample] = -1.0  # not its own neighbour
    return float(np.mean([_nearest(row).mean() for row in scores])), float(scores.mean())


def _nearest(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    count = min(NEIGHBOURS, len(scores))
    return np.partition(scores, -count)[-count:]


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
        elif not _is_known(index, text) and pass_of_class(index, text) is None:
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


def _products(index: Index, question: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the unknown words that name a product; parts of unknown names are counted there."""
    body = index.generation.body
    chinese = has_chinese(question)
    inside = {part for name in names for part in split_identifier(name)}
    products: list[str] = []
    for m in re.finditer(r"[A-Za-z][A-Za-z0-9+]*", question):
        known = all(body.knows(word) for word in words_of(m[0]))
        if known or len(m[0]) < 3 or m[0].lower() in inside:
            continue
        begins = m.start() == 0 or question[: m.start()].rstrip()[-1:] in {".", "?", "!", ":"}
        if chinese or (m[0][0].isupper() and not begins):
            products.append(m[0])
    return tuple(dict.fromkeys(products))


def _text(hit: Hit) -> str:
    p = hit.passage
    return f"{p.path} {p.symbol} {p.natural} {p.text}"

"""Whether passages support a claim, as far as words tell: they hold its names, its numbers, and most of its words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from indexer.records import Passage
from indexer.words import has_chinese, words_of
from retriever.search import Index

# The share of a claim's words, by weight, that its passages must hold.
ENOUGH_WORDS = 0.5
# Names as code has them: inner capitals, an underscore, digits, dots or hyphens between parts, a scope.
_NAME = re.compile(r"(?<![\w.-])-{0,2}[A-Za-z_][\w]*(?:(?:[.-]|::)[\w]+)*", re.ASCII)
_CODE = re.compile(r"[a-z0-9][A-Z]|_|\d|\.\w|-\w+-|::|^--")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:x\d+)*(?![\w]|\.\d)", re.ASCII)
_MARKED = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Support:
    """Names and numbers of a claim that no passage of it has, and the share of its words that one has."""

    missing: tuple[str, ...]
    share: float

    @property
    def holds(self) -> bool:
        """Tell whether the words allow the claim."""
        return not self.missing and self.share >= ENOUGH_WORDS


def support(index: Index, claim: str, passages: Sequence[Passage], question: str = "") -> Support:
    """Compare a claim with the passages that it cites; names, not numbers, may also come from the question."""
    texts = [f"{p.path} {p.symbol} {p.text}" for p in passages]
    whole = _joined("\n".join(texts))
    asked = _joined(question)
    names = [*_MARKED.findall(claim), *(m[0] for m in _NAME.finditer(claim) if _CODE.search(m[0]))]
    missing = [n for n in dict.fromkeys(names) if (form := _joined(n.strip(" -.="))) not in whole and form not in asked]
    numbers = set(_NUMBER.findall("\n".join(p.text for p in passages)))
    missing += [n for n in dict.fromkeys(_NUMBER.findall(claim)) if n not in numbers]
    return Support(tuple(missing), _share(index, claim, "\n".join(texts)))


def _share(index: Index, claim: str, text: str) -> float:
    """Return the share of the claim's words that stand in the text; for Chinese on English text, of the Latin ones."""
    found = set(words_of(text))
    words = set(words_of(claim))
    if has_chinese(claim) and not has_chinese(text):
        words = {word for word in words if word.isascii()}
    body = index.generation.body
    weights = {word: math.log(1 + body.count / (1 + body.frequency(word))) for word in words}
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in found) / total if total else 0.0


def _joined(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text.lower()).strip()

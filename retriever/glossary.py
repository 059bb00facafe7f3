"""The field's vocabulary, English and Chinese: what users say, and what the sources say (`glossary.toml`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources

from indexer.toml import parse_toml
from indexer.words import has_chinese, words_of

_INNER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TOKEN = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a question's words mean: the field's words for them, and the English words of its Chinese."""

    meant: tuple[str, ...] = ()
    translated: tuple[str, ...] = ()
    english: str = ""


class Glossary:
    """Phrases looked up in questions, the longest first."""

    def __init__(self, said: Sequence[tuple[str, str]], words: Mapping[str, str]) -> None:
        self.said = tuple(said)
        self._english = {_tokens(phrase): meant for phrase, meant in said if not has_chinese(phrase)}
        self._longest = max(map(len, self._english), default=0)
        self._chinese = [(_packed(phrase), meant) for phrase, meant in said if has_chinese(phrase)]
        self._words = sorted(words.items(), key=lambda item: -len(item[0]))

    @cached_property
    def chinese(self) -> frozenset[str]:
        """Return the Chinese phrases of more than one character: those are part of other words too."""
        return frozenset(phrase for phrase, _ in [*self._chinese, *self._words] if len(phrase) > 1)

    def expand(self, text: str) -> Expansion:
        """Return what the phrases of `text` mean, without the words that it has itself."""
        own = set(words_of(text))
        chinese = has_chinese(text)
        meant = [*self._phrases(text), *(self._chinese_phrases(text) if chinese else ())]
        english = " ".join(self._translated(text)) if chinese else ""
        found = dict.fromkeys(word for phrase in meant for word in words_of(phrase) if word not in own)
        told = dict.fromkeys(word for word in words_of(english) if word not in own)
        return Expansion(tuple(found), tuple(told), english)

    def _phrases(self, text: str) -> Iterator[str]:
        tokens = _tokens(text)
        at = 0
        while at < len(tokens):
            for length in range(min(self._longest, len(tokens) - at), 0, -1):
                if meant := self._english.get(tokens[at : at + length]):
                    yield meant
                    at += length - 1
                    break
            at += 1

    def _chinese_phrases(self, text: str) -> Iterator[str]:
        packed = _packed(text)
        yield from (meant for phrase, meant in self._chinese if phrase in packed)

    def _translated(self, text: str) -> Iterator[str]:
        for word, english in self._words:
            if word in text:
                text = text.replace(word, " ")
                yield english


@cache
def load_glossary() -> Glossary:
    """Read the glossary that comes with the retriever."""
    table = parse_toml(resources.files("retriever").joinpath("glossary.toml").read_text(encoding="utf-8"))
    said = [(phrase, entry["meant"]) for entry in table["entry"] for phrase in entry["said"]]
    return Glossary(said, table["words"])


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_singular(token.lower()) for token in _TOKEN.findall(_INNER.sub(" ", text.replace("_", " "))))


def _singular(word: str) -> str:
    # Not stemmed: "vectorize" and "vector" are two things here.
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _packed(text: str) -> str:
    return "".join(text.split()).lower()

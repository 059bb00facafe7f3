"""The words of a question by which it is told whether anything here is about it.

Chinese has no spaces: pairs of characters across the joint of two words, and the grammar of a question, stand in no
passage although all is known that it asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from indexer.toml import parse_toml
from indexer.words import has_chinese, words_of
from retriever.glossary import load_glossary


@dataclass(frozen=True, slots=True)
class Weighed:
    """The words of a question that count, and those among them that the glossary says in the sources' words."""

    words: tuple[str, ...]
    meant: frozenset[str] = frozenset()


def weighed_words(question: str) -> Weighed:
    """Split `question` at its everyday words and at the glossary's phrases; English is counted as it is."""
    if not has_chinese(question):
        return Weighed(tuple(dict.fromkeys(words_of(question))))
    meant: dict[str, None] = {}

    def split(said: re.Match[str]) -> str:
        if said["meant"]:
            meant.update(dict.fromkeys(words_of(said[0])))
        return " "

    # A character that is left alone between two words is no word.
    left = [word for word in words_of(_said().sub(split, question)) if len(word) > 1 or word.isascii()]
    return Weighed(tuple(dict.fromkeys([*meant, *left])), frozenset(meant))


@cache
def _said() -> re.Pattern[str]:
    """Return a pattern of the glossary's Chinese phrases and the everyday words, the longest first."""
    table = parse_toml(resources.files("retriever").joinpath("everyday.toml").read_text(encoding="utf-8"))
    phrases = (load_glossary().chinese, table["words"])
    meant, everyday = (_either(words) for words in phrases)
    begins = re.escape("".join(sorted({word[0] for words in phrases for word in words})))  # most places begin none
    return re.compile(f"(?=[{begins}])(?:(?P<meant>{meant})|{everyday})", re.IGNORECASE)


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))

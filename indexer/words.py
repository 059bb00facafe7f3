"""Text -> the words that the lexical index counts; the same function reads passages and questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

from indexer.stem import stem

# A word is an identifier, hyphens inside kept (a pass argument is one name), a number, or a run of Chinese characters.
_TOKEN = re.compile(r"[A-Za-z_]\w*(?:-\w+)*|\d+|[\u3400-\u4dbf\u4e00-\u9fff]+", re.ASCII)
# What a word may be made of: a text is split at everything else first, since the same runs stand in it often.
_RUN = re.compile(r"[\w\u3400-\u4dbf\u4e00-\u9fff-]+", re.ASCII)
_SPLITTING = {code: " " for code in range(128) if not _RUN.match(chr(code))}
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
# Words that say nothing about a topic; left out so that a question's grammar does not choose its answer.
_STOP = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does", "for",
    "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "may", "me", "my", "no", "not",
    "of", "on", "or", "our", "shall", "should", "so", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which", "while",
    "who", "why", "will", "with", "would", "you", "your",
})  # fmt: skip
_CHINESE_STOP = frozenset({"什么", "怎么", "哪个", "哪些", "为何", "如何", "请问", "为什", "么是", "是什", "有什"})
MAX_WORD = 64  # longer ones are hashes and mangled names


def split_identifier(name: str) -> list[str]:
    """Split `enableAutoMultiBuffer`, `hivm-plan-memory`, `MTE2_PIPE` into lower-case parts."""
    return [part.lower() for part in _PART.findall(name)]


def words_of(text: str) -> list[str]:
    """Return the words of `text` in order: stemmed parts, compound names also whole, Chinese as pairs of characters."""
    found: list[str] = []
    for run in _runs(text):
        found += _words_of_run(run)
    return found


def count_words(*texts: str) -> Mapping[str, int]:
    """Return how often each word of `words_of` stands in the texts together."""
    runs = Counter(run for text in texts for run in _runs(text))
    found: dict[str, int] = {}
    for run, often in runs.items():
        for word in _words_of_run(run):
            found[word] = found.get(word, 0) + often
    return found


def has_chinese(text: str) -> bool:
    """Tell whether `text` holds a Chinese character."""
    return _CHINESE.search(text) is not None


def spoken(names: Iterable[str]) -> str:
    """Return identifiers as plain words, for the natural-language text of a passage."""
    return " ".join(part for name in names for part in split_identifier(name))


def _runs(text: str) -> list[str]:
    """Return the longest pieces of `text` that hold nothing but what a word may be made of."""
    return text.translate(_SPLITTING).split() if text.isascii() else _RUN.findall(text)


@cache
def _words_of_run(run: str) -> tuple[str, ...]:
    return tuple(term for token in _TOKEN.findall(run) for term in _terms(token))


def _terms(token: str) -> tuple[str, ...]:
    if len(token) > MAX_WORD:
        return ()
    if _CHINESE.match(token):
        pairs = tuple(token[i : i + 2] for i in range(len(token) - 1)) or (token,)
        return tuple(pair for pair in pairs if pair not in _CHINESE_STOP)
    if token.isdigit():
        return (token,) if len(token) < 12 else ()
    parts = split_identifier(token)
    terms = tuple(stem(part) for part in parts if part not in _STOP and (len(part) > 1 or len(parts) == 1))
    return (*terms, token.lower()) if len(parts) > 1 else terms

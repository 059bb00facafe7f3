"""Porter's stemmer (M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980), for lower-case words."""

from __future__ import annotations

import re
from functools import cache

_VOWELS = "aeiou"

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "sion",
    "tion", "al", "er", "ic", "ou",
)  # fmt: skip


@cache
def stem(word: str) -> str:
    """Return the stem of `word`: `buffers`, `buffered` and `buffering` give one and the same."""
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    return _end(_drop(word))


def _shape(word: str) -> str:
    """Write `v` for each vowel and `c` for each consonant; a `y` after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Count the vowel-consonant sequences of `word` (the paper's m)."""
    return len(re.findall("v+c+", _shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _is_short(word: str) -> bool:
    """Tell whether `word` ends consonant-vowel-consonant, the last not w, x or y (the paper's *o)."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
            return _restore(word[: -len(suffix)])
    return word


def _restore(word: str) -> str:
    """Give back what `-ed` and `-ing` took: `hopp` is hop, `siz` is size."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    doubled = len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("cc")
    if doubled and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _replace(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, other in rules:
        if word.endswith(suffix):
            root = word[: -len(suffix)]
            return root + other if _measure(root) > 0 else word
    return word


def _drop(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            root = word[: -len(suffix)]
            if suffix in {"sion", "tion"}:  # the paper drops -ion after s or t
                root += suffix[0]
            return root if _measure(root) > 1 else word
    return word


def _end(word: str) -> str:
    if word.endswith("e"):
        root = word[:-1]
        if _measure(root) > 1 or (_measure(root) == 1 and not _is_short(root)):
            return root
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word

"""Scanning MLIR text by its brackets: strings are skipped, `->` is an arrow and not a closing bracket."""

from __future__ import annotations

import re

# A string that nothing ends reaches to the end of the text: else each quote in it is looked at as a start of its own,
# and a damaged line of 100 kB takes minutes.
_TOKEN = re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)|->|[()\[\]{}<>]|,')
_OPEN = "([{<"
_CLOSE = ")]}>"


def split_commas(text: str) -> list[str]:
    """Split `text` at its outermost commas; parts are stripped, an empty text gives no part."""
    parts: list[str] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start : token.start()].strip())
            start = token.end()
    tail = text[start:].strip()
    if tail or parts:
        parts.append(tail)
    return parts


def closing(text: str, start: int) -> int:
    """Return the index just after the bracket that closes the one at `start`; raises `ValueError` without one."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        if mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth -= 1
            if depth == 0:
                return token.end()
    raise ValueError(f"unbalanced bracket at column {start}: {text[start : start + 60]!r}")


def split_pairs(text: str) -> dict[str, str]:
    """Read `a = 1, b, c = "x"` as a dictionary; an attribute without value gets ""."""
    pairs: dict[str, str] = {}
    for part in split_commas(text):
        name, sep, value = part.partition(" = ")
        pairs[name.strip().strip('"')] = value.strip() if sep else ""
    return pairs

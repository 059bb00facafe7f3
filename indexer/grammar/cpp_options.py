"""Options declared in C++: `cl::opt<bool> x("flag", cl::desc("..."))`, `Option<int> x{*this, "flag", ...}`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.grammar.base import Unit, line_at

_OPTION = re.compile(
    r"""\b(?:cl::(?:opt|list|bits)|(?:(?:\w+::)*)(?:List)?Option)\s*<[^;{}()]*>\s*[\w:]+\s*[({]\s*(?:\*this\s*,\s*)?
    "(?P<flag>[\w.-]+)" """,
    re.VERBOSE,
)
_DEFAULT = re.compile(r"\binit\s*\((?P<value>(?:[^()]|\([^()]*\))*)\)")
_MARK = re.compile(rb"[(){};]")
# Longer ones hold a parser or code of their own.
MAX_OPTION_LINES = 40


def options_of(text: str, skeleton: bytes) -> Iterator[Unit]:
    """Yield one unit an option, named by its flag; `skeleton` is the same text blanked, byte for byte."""
    if "Option<" not in text and "cl::" not in text:
        return
    for found in _OPTION.finditer(text):
        end = _statement_end(skeleton, len(text[: found.start()].encode()))
        start, last = line_at(text, found.start()), line_at(text, found.start()) + end
        if end <= MAX_OPTION_LINES:
            declaration = "\n".join(text[found.start() :].split("\n", end + 1)[: end + 1])
            default = _DEFAULT.search(declaration)
            context = f"option {found['flag']} default {default['value'].strip()}" if default else found["flag"]
            yield Unit(start, last, "option", found["flag"], context=context, alone=True)


def _statement_end(skeleton: bytes, at: int) -> int:
    """Return how many lines below its first one a declaration ends."""
    depth, begin = 0, at
    for found in _MARK.finditer(skeleton, at):
        depth += {b"(": 1, b"{": 1, b")": -1, b"}": -1, b";": 0}[found[0]]
        if depth < 0 or (depth == 0 and found[0] == b";"):
            return skeleton.count(b"\n", begin, found.start())
    return MAX_OPTION_LINES + 1

"""The natural language in C++ and TableGen text: comments, and strings that read as messages."""

from __future__ import annotations

import re

from indexer.grammar.base import ProseLines

_PIECE = re.compile(
    r"""//(?P<line>[^\n]*) | /\*(?P<block>.*?)\*/ | "(?P<string>(?:\\.|[^"\\\n])*)" """,
    re.DOTALL | re.VERBOSE,
)
# Licence headers and rulers say nothing about the code below.
_NOISE = re.compile(
    r"^[\s/*=+-]*$|copyright|licen[sc]e|all rights reserved|warrant|conditions of any kind|spdx|apache\.org"
    r"|llvm exceptions"
    r"|distributed (under|on an)|see the license|under the terms|https?://llvm\.org|either express or implied|^-\*-",
    re.IGNORECASE,
)
_RULER = re.compile(r"^[/!<\s*=-]+|[\s*=-]+$|-\*-.*?-\*-")
_MESSAGE = re.compile(r"[A-Za-z]{2,}[^A-Za-z]+[A-Za-z]{2,}")
_FORMAT = re.compile(r"\\[nt\"]|[{}]|%[a-z]")


def prose_of(text: str) -> ProseLines:
    """Collect comments and messages of `text`; the caller may add to them."""
    prose = ProseLines(text)
    line, at = 1, 0
    for found in _PIECE.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        if (string := found["string"]) is not None:
            if _MESSAGE.search(string):
                prose.add(line, _FORMAT.sub(" ", string))
        else:
            comment = found["line"] if found["line"] is not None else found["block"]
            prose.add(line, clean_comment(comment))
    return prose


def clean_comment(comment: str) -> str:
    """Strip the comment's marks and rulers, keep its lines; a line of a licence becomes empty."""
    lines = (_RULER.sub(" ", line) for line in comment.split("\n"))
    return "\n".join("" if _NOISE.search(line) else line.strip() for line in lines)

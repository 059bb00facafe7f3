"""C++ that no parser reads: definitions by their braces, named by what stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.grammar.base import Unit
from indexer.records import Kind

_MARK = re.compile(rb"[{};]")
# A brace that only opens a scope for definitions.
_SCOPE = re.compile(rb"\b(?:namespace\b[\w:\s]*|extern\s*\"\"\s*)\Z")
_NAMED = re.compile(rb"\b(?:class|struct|union|enum)\s+(?:class\s+)?(?P<type>\w+)|(?P<function>[~\w:]+)\s*\(")
_KEYWORDS = frozenset({b"if", b"for", b"while", b"switch", b"return", b"sizeof", b"decltype", b"operator", b"defined"})
MIN_ALONE_LINES = 24


def blocks_of(text: bytes, kind: Kind) -> Iterator[Unit]:
    """Yield the outermost blocks of blanked C++ (no comments, strings or directives), namespaces looked through."""
    depth, begin, line, at = 0, 0, 1, 0
    start, name = 1, ""
    for found in _MARK.finditer(text):
        line += text.count(b"\n", at, found.start())
        at = found.start()
        if found[0] == b"{" and not (depth == 0 and _SCOPE.search(text, begin, found.start())):
            if depth == 0:
                head = text[begin : found.start()]
                start, name = line - head.lstrip().count(b"\n"), _name(head)
            depth += 1
        elif found[0] == b"}" and depth:
            depth -= 1
            if depth == 0:
                yield Unit(start, line, kind, name, alone=line - start + 1 >= MIN_ALONE_LINES)
        if depth == 0:
            begin = found.end()


def _name(head: bytes) -> str:
    names = (m["type"] or m["function"] for m in _NAMED.finditer(head))
    return next((name.decode(errors="replace") for name in names if name not in _KEYWORDS), "")

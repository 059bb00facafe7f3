"""MLIR locations resolved to the user's file: aliases, callsites, fused and named locations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from indexer.ir.brackets import closing, split_commas
from indexer.ir.records import Place

_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))")
_MAX_NESTING = 64  # callsite chains in Triton are as deep as its inlined helpers; this only stops a malformed cycle


class Places:
    """Resolves the location texts of one printed file against its `#locN` aliases, for one user file.

    A location resolves to the innermost frame that lies in the user's file: of `callsite(callee at caller)` the callee
    first. Line 0 (`"internal":0:0`) and frames of other files count as unlocated.
    """

    def __init__(self, aliases: Mapping[str, str], user_file: str) -> None:
        self._aliases = aliases
        self._user_file = user_file
        self._known: dict[str, Place | None] = {}

    def resolve(self, text: str) -> Place | None:
        """Return the user's place for the inside of a `loc(...)`, None when it has none."""
        if text not in self._known:
            self._known[text] = self._resolve(text.strip(), 0)
        return self._known[text]

    def _resolve(self, text: str, depth: int) -> Place | None:
        if depth > _MAX_NESTING or text == "unknown":
            return None
        if text.startswith("#"):
            target = self._aliases.get(text)
            return self._resolve(target, depth + 1) if target is not None else None
        if text.startswith("callsite("):
            callee, caller = _split_at(text[len("callsite(") : closing(text, len("callsite")) - 1])
            return self._resolve(callee, depth + 1) or self._resolve(caller, depth + 1)
        if text.startswith("fused"):
            inner = text[text.index("[") + 1 : text.rindex("]")]
            found = (self._resolve(part, depth + 1) for part in split_commas(inner))
            return next((place for place in found if place is not None), None)
        at = _FILE.match(text)
        if at:
            inside = _unescape(at[1]) == self._user_file and int(at[2]) > 0
            return Place(self._user_file, int(at[2]), int(at[3])) if inside else None
        if text.startswith('"') and "(" in text:  # a named location: "name"(inner)
            start = text.index("(", text.index('"', 1))
            return self._resolve(text[start + 1 : closing(text, start) - 1], depth + 1)
        return None


@lru_cache
def _unescape(text: str) -> str:
    """Undo MLIR's escapes: a byte that is not printable ASCII is printed as two hexadecimal digits."""
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], text.encode())
    return raw.decode(errors="replace")


def _split_at(text: str) -> tuple[str, str]:
    """Split `callee at caller` at the outermost ` at `."""
    depth, quoted = 0, False
    for i, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif depth == 0 and text.startswith(" at ", i):
            return text[:i], text[i + 4 :]
    return text, "unknown"

"""MLIR locations resolved to the user's file: aliases, callsites, fused and named locations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from indexer.ir.brackets import closing, split_commas
from indexer.ir.records import Place

_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d{1,9}):(\d{1,9})')
_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|(.))")
# Locations inside one printed location; each level is scanned again for its brackets. MLIR prints a nested one as an
# alias, so real ones are a few levels deep, while a chain of aliases may be as long as the user's inlined helpers.
_MAX_NESTING = 16
_AT = re.compile(r'"(?:[^"\\]|\\[\s\S])*(?:"|\\?\Z)|[()\[\]]| at ')


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
        """Return the user's place for the inside of a `loc(...)`; None when it has none, or is not a location."""
        if text not in self._known:
            frame = _frame(self._aliases.get(text, text), self._user_file)
            if frame is None:
                self._search(text)
            else:  # most operations have a plain place, by an alias
                self._known[text] = frame[0]
        return self._known[text]

    def _search(self, text: str) -> None:
        """Look for the first frame in the user's file, innermost first; each location of the file is read once.

        Without recursion, and past a cycle of aliases: hundreds of frames and damaged aliases both occur.
        """
        found: Place | None = None
        reached: dict[str, str | None] = {}  # each location, by the one that holds it
        pending: list[tuple[str, str | None, int]] = [(text, None, 0)]
        while pending and found is None:
            here, holder, depth = pending.pop()
            if here in reached:
                continue
            reached[here] = holder
            if here in self._known:
                found = self._known[here]
            else:
                found, inner, deeper = self._read(here.strip(), depth)
                pending += [(part, here, deeper) for part in reversed(inner)]
        self._known.update(dict.fromkeys(reached))
        if found is not None:
            self._known.update(dict.fromkeys(_chain(here, reached), found))

    def _read(self, text: str, depth: int) -> tuple[Place | None, list[str], int]:
        """Read one location: the user's place that it is, or those inside it and how deep they lie."""
        if text.startswith("#"):
            target = self._aliases.get(text)
            return None, [] if target is None else [target], 0
        frame = _frame(text, self._user_file)
        if frame is not None:
            return frame[0], [], 0
        if depth >= _MAX_NESTING:
            return None, [], 0
        try:
            return None, _parts(text), depth + 1
        except ValueError:  # a damaged location: its operation has no place, the module is whole
            return None, [], 0


# The places of one kernel: its dumps repeat them.
@lru_cache(1 << 15)
def _frame(text: str, user_file: str) -> tuple[Place | None] | None:
    """Read a plain place: the user's, or none where it lies in another file; None for any other location."""
    at = _FILE.match(text)
    if not at:
        return None
    inside = _unescape(at[1]) == user_file and int(at[2]) > 0
    return (Place(user_file, int(at[2]), int(at[3])) if inside else None,)


def _parts(text: str) -> list[str]:
    """Split a callsite, fused or named location into those it is made of; raises `ValueError` for a broken one."""
    if text.startswith("callsite("):
        return list(_split_at(text[len("callsite(") : closing(text, len("callsite")) - 1]))
    if text.startswith("fused"):
        return split_commas(text[text.index("[") + 1 : text.rindex("]")])
    if text.startswith('"') and "(" in text:  # a named location: "name"(inner)
        start = text.index("(", text.index('"', 1))
        return [text[start + 1 : closing(text, start) - 1]]
    return []


def _chain(last: str, holders: Mapping[str, str | None]) -> list[str]:
    """Return a location with all that hold it, inside out."""
    chain: list[str] = []
    at: str | None = last
    while at is not None:
        chain.append(at)
        at = holders[at]
    return chain


@lru_cache
def _unescape(text: str) -> str:
    """Undo MLIR's escapes: a byte that is not printable ASCII is printed as two hexadecimal digits."""
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], text.encode())
    return raw.decode(errors="replace")


def _split_at(text: str) -> tuple[str, str]:
    """Split `callee at caller` at the outermost ` at `."""
    depth = 0
    for token in _AT.finditer(text):
        mark = token[0]
        if mark in "([":
            depth += 1
        elif mark in ")]":
            depth -= 1
        elif depth == 0 and mark == " at ":
            return text[: token.start()], text[token.end() :]
    return text, "unknown"

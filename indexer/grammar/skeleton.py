"""C++ with what a parser without a preprocessor stumbles over blanked out; every byte keeps its place.

Comments, strings' contents and preprocessor lines go; so do macros that stand where only a specifier or a whole
statement can: `__aicore__`, `CATLASS_DEVICE`, `LLVM_DEBUG(...)`, `REGISTER_OP(x)` without a semicolon. Of branches that
do not balance alone (`#if ... { #else ... { #endif`) the first is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PIECE = re.compile(
    rb"""//[^\n]* | /\*.*?\*/ | R"(?P<mark>[^()\s\\"]{0,16})\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*"
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(?P<name>\w*)(?:\\\r?\n|[^\n])*", re.MULTILINE)
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)")
_SPECIFIER = re.compile(
    rb"""__attribute__\s*\(\([^()]*(?:\([^()]*\))?[^()]*\)\) | \[aicore\] | \bAICORE\b
    | \b__(?!(?:func|FILE|LINE|FUNCTION|builtin|VA)_?)\w+?__(?!\w)
    | \b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(?=\s+[A-Za-z_~])(?!\s+\w+\s*[{=;,)\[])""",
    re.VERBOSE,
)
_SPECIALISED_CALL = re.compile(rb"(?P<keep>\boperator\s*\(\))\s*<[^<>;{}]*>")
_EMPTY_DEFAULT = re.compile(rb"=\s*\{\s*\}(?=\s*[,)])")
_CONDITION_MACRO = re.compile(rb"(?P<keep>\bif\s+)(?P<macro>[A-Z][A-Z0-9_]{2,})(?=\s*\{)")
_CALL = re.compile(rb"^[ \t]*(?P<name>[A-Z][A-Z0-9_]{2,})[ \t]*\(", re.MULTILINE)
_PARENTHESIS = re.compile(rb"[()]")
_BLANK = bytes(c if c in b"\r\n" else 32 for c in range(256))
# What stands before a statement, and what follows a call that is only a part of one.
_BEFORE_STATEMENT = re.compile(rb"(?:^|[;{}:>]|(?P<needs>\)|\b(?:else|do)\b))\s*\Z")
_GOES_ON = b"{.<,)+-*/=?:&|[%!>^"
_LOOK_BACK = 200


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro defined over the lines `start..end`."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The blanked text, and the macros of several lines that were blanked with it."""

    text: bytes
    macros: tuple[Macro, ...]


def skeleton_of(source: bytes) -> Skeleton:
    """Blank `source` for the parser."""
    text = _PIECE.sub(_hollow, source)
    macros = tuple(_macros(text))
    text = _without_directives(text)
    text = _SPECIFIER.sub(_blank, text)
    if b"operator" in text:
        text = _SPECIALISED_CALL.sub(lambda m: m["keep"] + _blank_bytes(m[0][len(m["keep"]) :]), text)
    text = _EMPTY_DEFAULT.sub(lambda m: b"=" + _blank_bytes(m[0][1:-1]) + b"0", text)
    text = _CONDITION_MACRO.sub(lambda m: m["keep"] + b"(" + b" " * (len(m["macro"]) - 3) + b"1)", text)
    return Skeleton(_without_calls(text), macros)


def _blank_bytes(piece: bytes) -> bytes:
    return piece.translate(_BLANK)


def _blank(found: re.Match[bytes]) -> bytes:
    return found[0].translate(_BLANK)


def _hollow(found: re.Match[bytes]) -> bytes:
    """Blank a comment; of a string or character keep the quotes."""
    piece = found[0]
    if piece[:1] == b"/":
        return piece.translate(_BLANK)
    if piece[:1] == b"'":
        return b"'" + b"0" + b"'" + b" " * (len(piece) - 3)
    return b'""' + piece[2:].translate(_BLANK)


def _macros(text: bytes) -> Iterator[Macro]:
    line, at = 1, 0
    for found in _DIRECTIVE.finditer(text):
        line += text.count(b"\n", at, found.start())
        at = found.start()
        if found["name"] == b"define" and (name := _DEFINED.search(found[0])):
            yield Macro(line, line + found[0].count(b"\n"), name["name"].decode(errors="replace"))


def _without_directives(text: bytes) -> bytes:
    out = bytearray(text)
    groups: list[list[tuple[int, int]]] = []
    for found in _DIRECTIVE.finditer(text):
        start, end = found.span()
        out[start:end] = _blank_bytes(found[0])
        name = found["name"]
        if name in {b"if", b"ifdef", b"ifndef"}:
            groups.append([(end, end)])
        elif groups and name in {b"else", b"elif", b"elifdef", b"elifndef", b"endif"}:
            branches = groups[-1]
            branches[-1] = (branches[-1][0], start)
            if name == b"endif":
                _keep_one(out, groups.pop())
            else:
                branches.append((end, end))
    return bytes(out)


def _keep_one(out: bytearray, branches: list[tuple[int, int]]) -> None:
    """Blank all branches but the first, where one of several opens or closes more than the other."""
    if len(branches) > 1 and not all(_balanced(out[a:b]) for a, b in branches):
        for a, b in branches[1:]:
            out[a:b] = _blank_bytes(bytes(out[a:b]))


def _balanced(text: bytearray) -> bool:
    return text.count(b"{") == text.count(b"}") and text.count(b"(") == text.count(b")")


def _without_calls(text: bytes) -> bytes:
    """Blank calls of macros that are whole statements; one that a condition needs leaves its semicolon."""
    out = bytearray(text)
    done = 0
    for found in _CALL.finditer(text):
        before = out[max(0, found.start() - _LOOK_BACK) : found.start()]
        if found.start() < done or not (opened := _BEFORE_STATEMENT.search(before)):
            continue
        end = _closing(text, found.end())
        after = text[end : end + _LOOK_BACK].lstrip()[:1]
        if end and (not after or after not in _GOES_ON):
            done = text.index(b";", end) + 1 if after == b";" else end
            out[found.start() : done] = _blank_bytes(text[found.start() : done])
            if opened["needs"]:
                out[done - 1 : done] = b";"
    return bytes(out)


def _closing(text: bytes, at: int) -> int:
    """Return the offset behind the parenthesis that closes the one before `at`, 0 where none does."""
    depth = 1
    for found in _PARENTHESIS.finditer(text, at):
        depth += 1 if found[0] == b"(" else -1
        if depth == 0:
            return found.end()
    return 0

"""MLIR lit tests: one unit a case (split at `// -----`), a long case at its functions."""

from __future__ import annotations

import re
from itertools import pairwise

from indexer.grammar.base import Grammar, Outline, ProseLines, Unit, split_lines

_SEPARATOR = re.compile(r"^//\s*-{4,}")
_FUNCTION = re.compile(r"^\s{0,4}(?:func\.func|llvm\.func|tt\.func|module)\b[^@]*@(?P<name>[\w$.-]+)")
_RUN = re.compile(r"^//\s*RUN:\s*(?P<command>.*)")
_CHECK = re.compile(r"^\s*//\s*[A-Z][A-Z0-9_-]*:")
_COMMENT = re.compile(r"//(?P<text>.*)$")
_FLAG = re.compile(r"(?<![\w/.-])-{0,2}([a-z]\w*(?:-\w+)+)(?![\w/.])")


def outline(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one test file; its RUN line is part of every case's context."""
    lines = split_lines(text)
    borders = [1, *(n for n, line in enumerate(lines, 1) if _SEPARATOR.match(line)), len(lines) + 1]
    flags = _flags(lines)
    units = tuple(_case(lines, a, b - 1, flags) for a, b in pairwise(borders) if b > a)
    return Outline(units, _prose(text, lines))


def _case(lines: list[str], start: int, end: int, flags: str) -> Unit:
    functions = [(n, m["name"]) for n in range(start, end + 1) if (m := _FUNCTION.match(lines[n - 1]))]
    symbol = functions[0][1] if functions else ""
    cuts = tuple(n for n, _ in functions)
    return Unit(start, end, "test", symbol, context=flags, cuts=cuts, alone=True)


def _flags(lines: list[str]) -> str:
    names = (flag for line in lines[:40] if (m := _RUN.match(line)) for flag in _FLAG.findall(m["command"]))
    return " ".join(dict.fromkeys(names))


def _prose(text: str, lines: list[str]) -> tuple[str, ...]:
    prose = ProseLines(text)
    for number, line in enumerate(lines, 1):
        if (found := _FUNCTION.match(line)) is not None:
            prose.add(number, found["name"].replace("_", " "))
        elif not _CHECK.match(line) and not _SEPARATOR.match(line) and (comment := _COMMENT.search(line)):
            prose.add(number, comment["text"])
    return prose.freeze()


GRAMMAR = Grammar("mlir", "test", outline, re.compile(r"^\s*//(?!\s*-{4,})"))

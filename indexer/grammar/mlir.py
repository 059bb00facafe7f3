"""MLIR lit tests: one unit a case (split at `// -----`), a long case at its functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from indexer.grammar.base import Grammar, Outline, ProseLines, Unit, split_lines
from indexer.grammar.cfamily import clean_line

# A case longer than this is cut at its functions.
MAX_CASE_LINES = 80
# As many functions of one case name it.
MAX_NAMES = 12

_SEPARATOR = re.compile(r"^//\s*-{4,}")
_FUNCTION = re.compile(r"^\s{0,4}(?:func\.func|llvm\.func|tt\.func|module)\b[^@\n]*@\"?(?P<name>[\w$.-]+)")
_RUN = re.compile(r"^//\s*RUN:\s*(?P<command>.*)")
_CHECK = re.compile(r"^\s*//\s*[A-Z][A-Z0-9_-]*:")
_LABEL = re.compile(r"^\s*//\s*[A-Z][A-Z0-9_-]*-LABEL:.*?@(?P<name>[\w$.-]+)")
_COMMENT = re.compile(r"//(?P<text>.*)$")
_FLAG = re.compile(
    r"""(?<![\w/.%-])-{1,2}(?P<flag>[a-z][\w-]*) | (?<![\w/.%-])(?P<name>[a-z]\w*(?:-\w+)+)(?![\w/.])
    | [(,]\s*(?P<inner>[a-z][\w-]*)\s*(?=[,){])""",
    re.VERBOSE,
)
# The words of every RUN line, which name no pass.
_USUAL = frozenset({
    "split-input-file", "verify-diagnostics", "input-file", "check-prefix", "check-prefixes", "dump-input", "mlir",
    "allow-unregistered-dialect", "pass-pipeline", "o", "implicit-check-not", "match-full-lines", "any",
})  # fmt: skip


def outline(path: str, text: str) -> Outline:  # noqa: ARG001 - the signature of all grammars
    """Outline one test file; the passes and the tool of its RUN lines are part of every case's context."""
    lines = split_lines(text)
    borders = [1, *(n for n, line in enumerate(lines, 1) if _SEPARATOR.match(line)), len(lines) + 1]
    flags = _flags(lines)
    units = tuple(unit for a, b in pairwise(borders) if b > a for unit in _case(lines, a, b - 1, flags))
    return Outline(units, _prose(text, lines))


def _case(lines: list[str], start: int, end: int, flags: str) -> Iterator[Unit]:
    functions = [(n, m["name"]) for n in range(start, end + 1) if (m := _FUNCTION.match(lines[n - 1]))]
    symbol = ", ".join(dict.fromkeys(name for _, name in functions[:MAX_NAMES]))
    if end - start < MAX_CASE_LINES or len(functions) < 2:
        yield Unit(start, end, "test", symbol, context=flags, cuts=_statements(lines, start, end), alone=True)
        return
    firsts = [start, *(_above(lines, n, before) for (before, _), (n, _) in pairwise(functions)), end + 1]
    for (first, stop), (_, name) in zip(pairwise(firsts), functions, strict=True):
        cuts, long = _statements(lines, first, stop - 1), stop - first > MAX_CASE_LINES
        yield Unit(first, stop - 1, "test", name, f"case {start}", flags, cuts=cuts, alone=long)


def _above(lines: list[str], function: int, before: int) -> int:
    """Return where the comments and checks above a function begin."""
    while function - 1 > before and lines[function - 2].lstrip().startswith("//"):
        function -= 1
    return function


def _statements(lines: list[str], start: int, end: int) -> tuple[int, ...]:
    """Return where operations of the outermost block of a function begin, in a case that must be cut."""
    if end - start < MAX_CASE_LINES:
        return ()
    return tuple(n for n in range(start + 1, end + 1) if re.match(r" {2,4}[%\w\"]", lines[n - 1]))


def _flags(lines: list[str]) -> str:
    """Return the tool and the passes and options of the RUN lines."""
    commands = " ".join(m["command"].rstrip("\\") for line in lines if (m := _RUN.match(line)))
    tool = re.match(r"[\w-]+", commands)
    found = (m["flag"] or m["name"] or m["inner"] for m in _FLAG.finditer(commands))
    names = [name for name in found if name not in _USUAL and name.lower() != "filecheck"]
    return " ".join(dict.fromkeys([*([tool[0]] if tool else []), *names]))


def _prose(text: str, lines: list[str]) -> tuple[str, ...]:
    """Collect comments, and the labels that checks look for where no function of the file is called so."""
    prose = ProseLines(text)
    functions = {m["name"] for line in lines if (m := _FUNCTION.match(line))}
    for number, line in enumerate(lines, 1):
        if (label := _LABEL.match(line)) and label["name"] not in functions:
            prose.add(number, label["name"].replace("_", " "))
        elif not _CHECK.match(line) and not _SEPARATOR.match(line) and (comment := _COMMENT.search(line)):
            prose.add(number, clean_line(comment["text"]))
    return prose.freeze()


GRAMMAR = Grammar("mlir", "test", outline, re.compile(r"^\s*//(?!\s*-{4,})"))

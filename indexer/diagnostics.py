"""Diagnostics as the sources word them, so that one pasted with its numbers, names and prefix finds who says it.

Both sides are masked: what a message fills in when it is printed (numbers, quoted parts, types, values) becomes `*`,
and what compilers put before a message is dropped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HOLE = "*"
# A pasted log may be long; its diagnostics stand in the first lines of each report.
MAX_LINES = 400
MAX_LINE = 2_000  # characters: longer lines are printed IR
# Less than this is found in any text: "failed", "not supported".
MIN_LETTERS = 12
MIN_WORDS = 3

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(
    r"""^\s*(?:
      \S*?\.(?:py|mlir|ttir|cpp|cc|h|td)["']?(?::\d+)+(?:\))*:\s     # file:line:column:
    | loc\((?:[^()]|\([^()]*\))*\):\s
    | <(?:unknown|stdin)>(?::\d+)*:\s
    | \[(?:ERROR|WARNING|INFO|DEBUG|error|warning)\]\s*
    | (?:fatal\s+)?(?:error|warning|remark|note|LLVM\ ERROR|Error|E|assertion\ failed)\s*:\s
    | (?:\w+\.)*\w*(?:Error|Exception|Warning):\s               # a Python exception
    | '[\w.]+'\ op\s                                            # what emitOpError puts first
    )""",
    re.VERBOSE,
)
# An apostrophe inside a word quotes nothing.
_QUOTED = re.compile(r"""(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*"|`[^`\n]*`""")
_VALUE = re.compile(r"[%@#](?:[\w$.#-]+|\*)")
_ANGLES = re.compile(r"(?<![\w.])!?[\w.]*<[^<>]*>")
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![A-Za-z_])")
_SUBJECT = re.compile(r"'([a-z_]\w*(?:\.\w+)+)' op\b")
_HOLES = re.compile(r"\*(?:\s*\*)+")
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]+")
# A word that stands alone in a masked message: beside a hole it may be a part of one.
_ALONE = re.compile(r"(?<![\w*])[^\W\d_]+(?![\w*])")


def mask(text: str) -> str:
    """Return one line of a diagnostic in the form that is compared: prefix dropped, filled-in parts as `*`."""
    text = _COLOUR.sub("", text)
    while (prefix := _PREFIX.match(text)) is not None:
        text = text[prefix.end() :]
    text = _QUOTED.sub(HOLE, text)
    before = ""
    while text != before:
        before, text = text, _ANGLES.sub(HOLE, text)
    text = _NUMBER.sub(HOLE, _VALUE.sub(HOLE, text))
    return _HOLES.sub(HOLE, _SPACE.sub(" ", text)).strip().lower()


def operations_of(text: str) -> list[str]:
    """Return the operations that a text complains of, as `'toy.add' op ...`."""
    return list(dict.fromkeys(_SUBJECT.findall(text[: MAX_LINES * MAX_LINE])))


def pieces_of(template: str) -> tuple[str, ...]:
    """Return the literal pieces of a masked message, in order; pure punctuation says nothing."""
    return tuple(p for piece in template.split(HOLE) if _WORD.search(p := piece.strip(" .,:;!()[]{}")))


def says_enough(template: str) -> bool:
    """Tell whether a masked message can be told from others."""
    words = [word for piece in pieces_of(template) for word in _WORD.findall(piece)]
    return len(words) >= MIN_WORDS and sum(map(len, words)) >= MIN_LETTERS


@dataclass(frozen=True, slots=True)
class _Template:
    text: str
    pieces: tuple[str, ...]
    letters: int


class Templates:
    """The masked messages of an index, which finds those that a text is an instance of."""

    def __init__(self, names: Iterable[str]) -> None:
        split = ((name, pieces_of(name)) for name in names)
        self._known = [_Template(name, pieces, sum(map(len, pieces))) for name, pieces in split if pieces]
        self._known.sort(key=lambda t: -t.letters)
        # By its longest word, so that a line is compared with a few only.
        self._by_word: dict[str, list[_Template]] = defaultdict(list)
        for template in self._known:
            words = _ALONE.findall(template.text) or [""]
            self._by_word[max(words, key=len)].append(template)

    def find(self, text: str) -> list[str]:
        """Return the messages that stand in `text`, the ones that explain most of it first.

        A line that one message explains is given to it, not to shorter messages that it contains.
        """
        lines = [masked for line in text.splitlines()[:MAX_LINES] if (masked := mask(line[:MAX_LINE]))]
        joined = mask(" ".join(text.split())[:MAX_LINE])  # a message that a terminal or a log has wrapped
        found: dict[str, int] = {}
        for line in dict.fromkeys([*lines, joined]):
            best = 0
            for template in self._of_words(line):
                if template.letters * 2 < best:
                    break
                if _fits(template.pieces, line) and (template.text == line or says_enough(template.text)):
                    found.setdefault(template.text, template.letters)
                    best = max(best, template.letters)
        most = max(found.values(), default=0)
        return [name for name, letters in sorted(found.items(), key=lambda item: -item[1]) if letters * 2 >= most]

    def _of_words(self, line: str) -> list[_Template]:
        """Return the messages that may stand in a line, the longest first."""
        words = {"", *_WORD.findall(line)}
        return sorted((t for word in words for t in self._by_word.get(word, ())), key=lambda t: -t.letters)

    def near(self, text: str, limit: int) -> list[str]:
        """Return messages that share the most words with `text`."""
        asked = set(_WORD.findall(mask(text[:MAX_LINE])))
        shared = ((len(asked & set(_WORD.findall(t.text))), t) for t in self._known)
        ranked = sorted((pair for pair in shared if pair[0] >= MIN_WORDS), key=lambda pair: (-pair[0], pair[1].letters))
        return [template.text for _, template in ranked[:limit]]


def _fits(pieces: Sequence[str], line: str) -> bool:
    """Tell whether the pieces stand in the line, in order."""
    at = 0
    for piece in pieces:
        at = line.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True

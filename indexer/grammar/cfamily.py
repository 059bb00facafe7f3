"""The natural language in C++ and TableGen text: comments, and strings that read as messages."""

from __future__ import annotations

import re

from indexer.grammar.base import ProseLines

_PIECE = re.compile(
    r"""^[ \t]*(?:\#[ \t]*(?:include|pragma)|include\b)[^\n]* | //(?P<line>[^\n]*) | /\*(?P<block>.*?)\*/
    | "(?P<string>(?:\\.|[^"\\\n])*)" """,
    re.DOTALL | re.VERBOSE | re.MULTILINE,
)
# A header of rights says nothing about the code below: from the first to the last of its lines.
_RIGHTS = re.compile(
    r"copyright|licen[sc]e|all rights reserved|warrant|conditions of any kind|spdx|apache\.org|llvm exceptions"
    r"|distributed (?:under|on an)|permission is hereby|either express or implied"
    r"|in no event shall|dealings in\b|^\W*the software\.\s*$",
    re.IGNORECASE,
)
MAX_RIGHTS_LINES = 40
# What a line without words for people begins with, or has somewhere.
_NOISE = re.compile(
    r"(?:end )?(?:anonymous )?namespace\b\s*[\w:]*$|end (?:of )?(?:anonymous )?namespace"
    r"|\w+_(?:H|HPP|TD)_*$|[\w<> :]+=$|[\W_\d]*$",
    re.IGNORECASE,
)
_TOOLS = re.compile(r"clang-format o|nolint", re.IGNORECASE)
_RULER = re.compile(r"-*\*-[^*]*-\*-|[-=*/#_~+<>]{3,}|^[/!<\s*]+|[\s*]+$")
# Marks of documentation tools, and who shall do a thing.
_MARK = re.compile(r"[@\\](?:brief|param|tparam|return|returns|note|details|see|p|c|ref)\b(?:\[\w+\])?")
_OWNER = re.compile(r"\b(?P<mark>TODO|FIXME|XXX|HACK|NOTE)\s*\([^()]*\)")
# Commented-out code and IR: a statement's end, an assignment of values, several of them.
_CODE = re.compile(
    r"[=()<>\]].*;$|^return\b.*;$|[{}]$|^[{}]|^%[\w#:]+(?:, *%[\w#:]+)* *=|%\w+.*%\w+|^(?:func\.func|module|scf\.\w+)\b"
    r"|^\w+(?:::\w+)*\([^()]*\);?$"
)
_MESSAGE = re.compile(r"[A-Za-z]{2,}[^\w\n]*\s[^\w\n]*[A-Za-z]|[\u4e00-\u9fff]{2}")
_FORMAT = re.compile(r"\\[nt\"]|[{}]|%[a-z]")


def prose_of(text: str) -> ProseLines:
    """Collect comments and messages of `text`; the caller may add to them."""
    prose = ProseLines(text)
    rights = rights_of(text)
    line, at = 1, 0
    for found in _PIECE.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        if (string := found["string"]) is not None:
            if is_message(string):
                prose.add(line, " ".join(_FORMAT.sub(" ", string).split()))
        elif (comment := found["line"] if found["line"] is not None else found["block"]) is not None:
            prose.add(line, clean_comment(comment, line, rights))
    return prose


def is_message(string: str) -> bool:
    """Tell whether a string holds words for people, not a name, a path or code."""
    return _MESSAGE.search(string) is not None and not _CODE.search(string.strip()) and "attr-dict" not in string


def rights_of(text: str) -> range:
    """Return the lines (1-based) of the header that states rights."""
    head = text.split("\n", MAX_RIGHTS_LINES)[:MAX_RIGHTS_LINES]
    found = [number for number, line in enumerate(head, 1) if _RIGHTS.search(line)]
    return range(found[0], found[-1] + 1) if found else range(0)


def clean_comment(comment: str, first: int, rights: range) -> str:
    """Strip the comment's marks and rulers and leave out code and rights, keeping its lines; `first` is its line."""
    lines = enumerate(comment.split("\n"), first)
    return "\n".join("" if number in rights else clean_line(line) for number, line in lines)


def clean_line(line: str) -> str:
    """Return what a line of a comment says, "" where that is nothing or code."""
    said = _RULER.sub(" ", line)
    if "@" in said or "\\" in said:
        said = _MARK.sub(" ", said)
    if "(" in said:
        said = _OWNER.sub(r"\g<mark>", said)
    words = " ".join(said.split())
    return "" if _NOISE.match(words) or _TOOLS.search(words) or _CODE.search(words) else words

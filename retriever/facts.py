"""Facts that stand in a passage in a known form: an option's default, from TableGen, C++, Python and the documents' tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexer.graph.options import option_name
from indexer.records import Passage

# `Option<"field", "flag", "type", /*default=*/"value", "description">`, in TableGen.
_PASS_OPTION = re.compile(r"\bOption<(?P<arguments>(?:[^<>\"]|\"(?:[^\"\\]|\\.)*\"|<[^<>]*>)*)>")
# `def EnableX : SomeOptions<"description", "type", "value">`, the records that become flags of bishengir-compile.
_RECORD = re.compile(
    r"\bdef\s+(?P<record>\w+)\s*:\s*\w*Options?\w*\s*<(?P<arguments>(?:[^<>\"]|\"(?:[^\"\\]|\\.)*\"|<[^<>]*>)*)>"
)
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
# `name: bool = False` of a class of options, in Python.
_FIELD = re.compile(r"^[ \t]+(?P<name>[a-z]\w*)\s*:\s*(?P<type>[\w.\[\], |]+?)\s*=\s*(?P<value>[^#\n]+)", re.MULTILINE)
_ROW = re.compile(r"^\|(?P<cells>.+)\|\s*$")
_DEFAULT_HEADINGS = ("default", "默认")
_CODE_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OptionFact:
    """An option's default as one passage states it, at `line` (1-based, in the file)."""

    name: str
    default: str
    passage: Passage
    line: int

    @property
    def is_source(self) -> bool:
        """Tell whether the compiler's own source states it; a document only repeats it."""
        return self.passage.language in {"tablegen", "cpp", "python"}

    @property
    def value(self) -> str:
        """Return the default in one spelling: `MultiBufferStrategy::ONLY_CUBE` and `only-cube` are one."""
        plain = re.split("[(（]", self.default, maxsplit=1)[0].strip("\"'` ").rpartition("::")[2]
        return plain.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A document that states another default than the source: the source counts."""

    source: OptionFact
    document: OptionFact


def canonical(name: str) -> str:
    """Return an option's name in one spelling: `--enable_x` and `enable-x` are one."""
    return name.strip("-` ").replace("_", "-").lower()


def option_facts(name: str, passages: Sequence[Passage]) -> list[OptionFact]:
    """Return the defaults of option `name` that the passages state, those of the source first."""
    wanted = canonical(name)
    found = [fact for p in passages for fact in _facts(p) if canonical(fact.name) == wanted]
    # The flag of the compiler itself before a pass's own option of the same name, source before documents.
    rank = {"option": 0, "pass_def": 1, "python": 2}
    return sorted(found, key=lambda fact: (not fact.is_source, rank.get(fact.passage.kind, 3)))


def conflicts(facts: Sequence[OptionFact]) -> list[Conflict]:
    """Return the documents that state another default than the compiler's own flag in the same corpus."""
    found = []
    for document in (f for f in facts if not f.is_source and f.passage.language == "markdown"):
        same = [f for f in facts if f.is_source and f.passage.corpus == document.passage.corpus]
        # A document's table lists the compiler's flags; a pass has an option of that name with a default of its own.
        flags = [f for f in same if f.passage.kind == "option"] or same
        if flags and all(f.value != document.value for f in flags):
            found.append(Conflict(flags[0], document))
    return found


def _facts(passage: Passage) -> Iterator[OptionFact]:
    if passage.language == "tablegen":
        yield from _of_tablegen(passage)
    elif passage.language == "python":
        for m in _FIELD.finditer(passage.text):
            yield OptionFact(m["name"], m["value"].strip(), passage, _line(passage, m.start("name")))
    elif passage.language == "markdown":
        yield from _of_table(passage)


def _of_tablegen(passage: Passage) -> Iterator[OptionFact]:
    for m in _PASS_OPTION.finditer(passage.text):
        values = _arguments(m["arguments"])
        if len(values) >= 4:
            yield OptionFact(values[1], values[3], passage, _line(passage, m.start()))
    for m in _RECORD.finditer(passage.text):
        values = _arguments(m["arguments"])
        if len(values) >= 3:
            yield OptionFact(option_name(m["record"]), values[2], passage, _line(passage, m.start()))


def _arguments(text: str) -> list[str]:
    """Return the strings between a record's angle brackets; neighbours without a comma are one string."""
    plain = _CODE_COMMENT.sub(" ", text)
    values: list[str] = []
    end = -1
    for m in _STRING.finditer(plain):
        joined = end >= 0 and not plain[end : m.start()].strip()
        if joined:
            values[-1] += m[1]
        else:
            values.append(m[1])
        end = m.end()
    return values


def _of_table(passage: Passage) -> Iterator[OptionFact]:
    column = -1
    for number, line in enumerate(passage.text.split("\n")):
        row = _ROW.match(line.strip())
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row["cells"])] if row else []
        headed = [i for i, cell in enumerate(cells) if cell.lower().startswith(_DEFAULT_HEADINGS)]
        if not cells:
            column = -1
        elif headed:
            column = headed[0]
        elif 0 < column < len(cells) and (flag := re.search(r"-{0,2}([A-Za-z][\w-]+)", cells[0])):
            yield OptionFact(flag[1], cells[column], passage, passage.start_line + number)


def _line(passage: Passage, offset: int) -> int:
    return passage.start_line + passage.text.count("\n", 0, offset)

"""Facts in a known form: an option's type, default, values and purpose, and the document that contradicts it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexer.graph.options import option_name
from indexer.records import Passage

_ANGLES = r"<(?P<arguments>(?:[^<>\"]|\"(?:[^\"\\]|\\.)*\"|<[^<>]*>)*)>"
# `Option<"field", "flag", "type", /*default=*/"value", "description", values>`, in TableGen.
_PASS_OPTION = re.compile(r"\b(?P<list>List)?Option" + _ANGLES)
# `def EnableX : SomeOptions<"description", "type", "value">`, the records that become flags of bishengir-compile.
_RECORD = re.compile(r"\bdef\s+(?P<record>\w+)\s*:\s*\w*(?:Options?|Opt)\w*\s*" + _ANGLES)
# `cl::opt<type> x("flag", cl::desc("…"), cl::init(…));` and `Option<type> x{*this, "flag", …};`, in C++.
_CPP_OPTION = re.compile(
    r"\b(?:cl::opt|Option)\s*<(?P<type>[^;{}()\"]*?)>\s*\w+\s*[({](?P<body>(?:[^;\"]|\"(?:[^\"\\]|\\.)*\")*);"
)
_CPP_FLAG = re.compile(r'(?<!desc\()"(?P<name>[A-Za-z][\w-]*)"')
_CPP_PART = re.compile(
    r"\b(?:desc\(\s*(?P<desc>(?:\"(?:[^\"\\]|\\.)*\"\s*)+)|init\((?P<init>(?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\))"
)
_STRING_OR_COMMENT = re.compile(r"\"(?P<text>(?:[^\"\\]|\\.)*)\"|/\*.*?\*/|//[^\n]*", re.DOTALL)
# `clEnumValN(Strategy::ONLY_CUBE, "only-cube", "meaning")`.
_ENUM_VALUE = re.compile(
    r"\bclEnumValN?\(\s*(?P<constant>[\w:]+)\s*,\s*\"(?P<spelling>[^\"]*)\"\s*,\s*(?P<meaning>(?:\"[^\"]*\"\s*)+)\)"
)
# `name: bool = False` of a class of options, in Python.
_FIELD = re.compile(r"^[ \t]+(?P<name>[a-z]\w*)\s*:\s*(?P<type>[\w.\[\], |]+?)\s*=\s*(?P<value>[^#\n]+)", re.MULTILINE)
_ROW = re.compile(r"^\|(?P<cells>.+)\|\s*$")
_DEFAULT_HEADINGS = ("default", "默认")


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that an option takes: as it is typed, what it means, and the constant that it stands for."""

    spelling: str
    meaning: str
    constant: str


@dataclass(frozen=True, slots=True)
class OptionFact:
    """What one passage states of an option, at `line` (1-based, in the file); empty where it does not say.

    `owner` is the pass or the class that the option is of; a flag of the compiler itself has none.
    """

    name: str
    default: str
    passage: Passage
    line: int
    type: str = ""
    description: str = ""
    choices: tuple[Choice, ...] = ()
    owner: str = ""

    @property
    def is_source(self) -> bool:
        """Tell whether the compiler's own source states it; a document only repeats it."""
        return self.passage.language in {"tablegen", "cpp", "python"}

    @property
    def typed_default(self) -> str:
        """Return the default as a user would type it, where the passage tells how."""
        return next((c.spelling for c in self.choices if _plain(c.constant) == _plain(self.default)), self.default)

    @property
    def value(self) -> str:
        """Return the default in one spelling: `MultiBufferStrategy::ONLY_CUBE` and `only-cube` are one."""
        return _plain(self.default)

    def says(self, other: OptionFact) -> bool:
        """Tell whether the other one states the same default."""
        return other.value in {self.value, _plain(self.typed_default)}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A document that states another default than the source: the source counts."""

    source: OptionFact
    document: OptionFact


def canonical(name: str) -> str:
    """Return an option's name in one spelling: `--enable_x` and `enable-x` are one."""
    return name.strip("-` ").replace("_", "-").lower()


def option_facts(name: str, passages: Sequence[Passage]) -> list[OptionFact]:
    """Return what the passages state of option `name`, those of the source first."""
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
        if flags and not any(f.says(document) for f in flags):
            found.append(Conflict(flags[0], document))
    return found


def facts_of(passage: Passage) -> list[OptionFact]:
    """Return what a passage states of any option."""
    return list(_facts(passage))


def _facts(passage: Passage) -> Iterator[OptionFact]:
    if passage.language == "tablegen":
        yield from _of_tablegen(passage)
    elif passage.language == "cpp":
        yield from _of_cpp(passage)
    elif passage.language == "python":
        for m in _FIELD.finditer(passage.text):
            line = line_at(passage, m.start("name"))
            yield OptionFact(m["name"], m["value"].strip(), passage, line, m["type"], owner=_symbol(passage))
    elif passage.language == "markdown":
        yield from _of_table(passage)


def _of_tablegen(passage: Passage) -> Iterator[OptionFact]:
    text = passage.text
    for m in _PASS_OPTION.finditer(text):
        values = strings_of(m["arguments"])
        _, name, kind, default, about = (values[:3] + [""] * bool(m["list"]) + values[3:] + [""] * 5)[:5]
        if name:
            line, choices = line_at(passage, m.start()), _choices(m["arguments"])
            yield OptionFact(name, default, passage, line, kind, about, choices, _symbol(passage))
    for m in _RECORD.finditer(text):
        about, kind, default = (strings_of(m["arguments"]) + [""] * 3)[:3]
        body = text[m.end() : text.find("\ndef ", m.end()) if "\ndef " in text[m.end() :] else len(text)]
        if kind:
            line = line_at(passage, m.start())
            yield OptionFact(option_name(m["record"]), default, passage, line, kind, about, _choices(body))


def _of_cpp(passage: Passage) -> Iterator[OptionFact]:
    for m in _CPP_OPTION.finditer(passage.text):
        parts = {part.lastgroup: part[part.lastgroup] for part in _CPP_PART.finditer(m["body"]) if part.lastgroup}
        if "init" in parts and (flag := _CPP_FLAG.search(m["body"])):
            about = "".join(strings_of(parts.get("desc", "")))
            line, choices = line_at(passage, m.start()), _choices(m["body"])
            owner = "" if "cl::opt" in m[0] else _symbol(passage)
            yield OptionFact(flag["name"], parts["init"].strip(), passage, line, m["type"], about, choices, owner)


def _choices(text: str) -> tuple[Choice, ...]:
    return tuple(
        Choice(m["spelling"], "".join(strings_of(m["meaning"])).strip(), m["constant"])
        for m in _ENUM_VALUE.finditer(text)
    )


def strings_of(text: str) -> list[str]:
    """Return the string literals of `text`, comments left out; neighbours without a comma are one string."""
    values: list[str] = []
    end = -1
    for m in _STRING_OR_COMMENT.finditer(text):
        between = text[end : m.start()].strip() if end >= 0 else "-"
        if m["text"] is None:
            end = m.end() if not between else end
        elif between:
            values.append(m["text"])
            end = m.end()
        else:
            values[-1] += m["text"]
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


def line_at(passage: Passage, offset: int) -> int:
    """Return the line in the file at which `offset` of the passage's text stands."""
    return passage.start_line + passage.text.count("\n", 0, offset)


def _symbol(passage: Passage) -> str:
    return passage.symbol.split(", ")[0]


def _plain(value: str) -> str:
    plain = re.split("[(（]", value, maxsplit=1)[0].strip("\"'` ").rpartition("::")[2]
    return plain.lower().replace("_", "-")

"""Which element types an operation takes: the table of its documentation, or the constraint of its definition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexer.records import Passage
from retriever.facts import line_at
from retriever.search import Index

# As users, Triton's documentation and MLIR's TableGen write them.
_TYPES = {
    "bf16": "bf16|bfloat16", "fp16": "fp16|f16|float16|half(?!-)",
    "fp32": "fp32|f32|float32", "fp64": "fp64|f64|float64",
    "fp8": r"fp8(?:e\w+)?|float8\w*|f8e\w+", "fp4": r"fp4|f4e\w+", "int4": "int4|i4", "int8": "int8|i8|si8",
    "int16": "int16|i16", "int32": "int32|i32", "int64": "int64|i64", "uint8": "uint8|ui8|u8", "uint16": "uint16|ui16",
    "uint32": "uint32|ui32", "uint64": "uint64|ui64", "bool": "bool|int1|i1",
}  # fmt: skip
_TYPE = re.compile(
    r"(?<![A-Za-z0-9_.])(?:"
    + "|".join(f"(?P<{name}>{forms})" for name, forms in _TYPES.items())
    + r")(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_ASKS = re.compile(r"support|accept|allow|legal|\btakes?\b|works?\b|支持|可用|能用|允许|能不能|可以", re.IGNORECASE)
_SAYS = re.compile(r"support|native|缺失|支持", re.IGNORECASE)
_ANY_TYPE = re.compile(r"\b(?:d|data |element )types?\b|数据类型|元素类型|哪些类型|什么类型", re.IGNORECASE)
# `tl.sum`; a bare word counts only in a question about types.
_NAME = re.compile(r"(?<![\w.])(?:(?:tl|triton\.language)\.)?(?P<last>[a-z_][a-z0-9_]{2,})(?!\w)", re.ASCII)
# `OperElemTypeConstraints<[0, 1], [I8, F16]>` (HIVMBase.td): the operands, and the types that each may have.
_CONSTRAINT = re.compile(r"\bOperElemTypeConstraints<\[(?P<operands>[\w\s,/*=]+)\],\s*\[(?P<types>[\w\s,]+)\]>")
_RULE = re.compile(r"^\|[\s:|-]+\|?\s*$")
_YES = frozenset("✓√✔")
_NO = frozenset("×✗✘xX")


@dataclass(frozen=True, slots=True)
class TypesFact:
    """What one passage states at `line`: which types `name` takes, and which it does not.

    `who` is the platform of a table's row, `operands` are those of a constraint. `asked` are the types in the question,
    each with whether it is taken; None where the passage does not speak of it.
    """

    name: str
    who: str
    takes: tuple[str, ...]
    lacks: tuple[str, ...]
    asked: tuple[tuple[str, bool | None], ...]
    passage: Passage
    line: int
    operands: str = ""


def asks_for_types(question: str) -> bool:
    """Tell whether the question is about which element types are supported."""
    return bool(types_in(question) and _ASKS.search(question)) or _ANY_TYPE.search(question) is not None


def says_of_types(text: str, asked: Sequence[str]) -> bool:
    """Tell whether a line of `text` says of one of the types that it is supported, or not."""
    return any(_SAYS.search(line) and not set(asked).isdisjoint(types_in(line)) for line in text.split("\n"))


def types_in(text: str) -> list[str]:
    """Return the element types that `text` names, each by one name."""
    return list(dict.fromkeys(str(m.lastgroup) for m in _TYPE.finditer(text)))


def type_facts(index: Index, question: str, corpora: Sequence[str] = ()) -> Iterator[TypesFact]:
    """Yield what tables and definitions say of the operations in a question about the types that are supported."""
    if not asks_for_types(question):
        return
    asked, shelf = types_in(question), index.generation.shelf
    for last in dict.fromkeys(m["last"] for m in _NAME.finditer(question)):
        for row in shelf.rows(shelf.paths_ending(f"{last}.md")):
            if not corpora or row.passage.corpus in corpora:
                yield from _of_table(f"triton.language.{last}", row.passage, asked)
        for op in _operations(index, last):
            for hit in index.lookup(op, "op", corpora=corpora):
                if hit.why[0].startswith("defines"):
                    yield from _of_constraint(op, hit.passage, asked)


def _operations(index: Index, last: str) -> list[str]:
    """Return the operations of that last name; HIVM's on vectors begin with a `v` (HIVMVectorOps.td)."""
    return [op for op in index.generation.shelf.names("op") if op.rpartition(".")[2] in {last, f"v{last}"}]


def _of_table(name: str, passage: Passage, asked: Sequence[str]) -> Iterator[TypesFact]:
    lines = passage.text.split("\n")
    for at, line in enumerate(lines[1:], 1):
        heads = [next(iter(types_in(cell)), "") for cell in _cells(lines[at - 1])]
        if not _RULE.match(line) or sum(map(bool, heads)) < 2:
            continue
        for number in range(at + 1, len(lines)):
            if not (cells := _cells(lines[number])):
                break
            marks = {head: cell for head, cell in zip(heads, cells, strict=False) if head}
            takes = tuple(head for head, cell in marks.items() if _YES & set(cell))
            lacks = tuple(head for head, cell in marks.items() if cell in _NO)
            if "GPU" not in cells[0] and (takes or lacks):
                told = _told(asked, takes, lacks, whole=False)
                yield TypesFact(name, cells[0], takes, lacks, told, passage, passage.start_line + number)


def _of_constraint(name: str, passage: Passage, asked: Sequence[str]) -> Iterator[TypesFact]:
    for m in _CONSTRAINT.finditer(passage.text):
        # MLIR's AnyI8 is a byte of any sign (CommonTypeConstraints.td).
        takes = tuple(types_in(re.sub(r"\bAnyI(\d+)\b", r"I\1, UI\1", m["types"])))
        line = line_at(passage, m.start())
        told = _told(asked, takes, (), whole=True)
        yield TypesFact(name, "", takes, (), told, passage, line, re.sub(r"/\*.*?\*/", "", m["operands"]))


def _told(
    asked: Sequence[str], takes: Sequence[str], lacks: Sequence[str], *, whole: bool
) -> tuple[tuple[str, bool | None], ...]:
    """Return what is said of each type in the question; `whole` tells that what is not taken is refused."""
    known = {**dict.fromkeys(lacks, False), **dict.fromkeys(takes, True)}
    return tuple((type_, known.get(type_, False if whole else None)) for type_ in asked)


def _cells(line: str) -> list[str]:
    text = line.strip()
    return (
        [cell.strip() for cell in text.removeprefix("|").removesuffix("|").split("|")] if text.startswith("|") else []
    )

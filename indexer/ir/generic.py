"""MLIR's generic form -> records.

Every dump is asked for with `--mlir-print-op-generic --mlir-print-debuginfo`: one operation a line, whatever its
dialect, types and properties always spelled out, its location at the end of the line that closes it. So one small
reader serves all dialects of all compilers, and knows nothing about any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from indexer.ir.brackets import closing, split_commas, split_pairs
from indexer.ir.places import Places
from indexer.ir.records import IrBlock, IrModule, IrOp, IrValue, Place

_HEAD = re.compile(r'^(?:(?P<results>%[^=]*?) = )?"(?P<name>[\w.$-]+)"\((?P<operands>[%\w$.#, -]*)\) ?')
# Successive dumps repeat most of their lines, and the operations of one dump their types and properties.
_REMEMBERED = 1 << 15
# Operations inside each other. Kernels stay below twenty; whoever walks a module may recurse, and Python's limit of
# 1000 frames must hold for them.
MAX_DEPTH = 128
_Regions = tuple[tuple[IrBlock, ...], ...]
_RESULT = re.compile(r"(%[\w$.#-]+)(?::(\d+))?")
_LABEL = re.compile(r"^(\^[\w$.-]+)(?:\((.*)\))?:(?:\s*//.*)?$")
_ALIAS = re.compile(r"^([#!][\w$.-]+) = (.*)$")


@dataclass(slots=True)
class _Open:
    """An operation whose regions are still being read: its results, name and operands, and what follows these."""

    head: re.Match[str]
    opening: _Opening
    regions: list[list[IrBlock]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Opening:
    """What follows the operands: successors and properties; `rest` begins with the regions, or what follows them."""

    successors: tuple[str, ...]
    properties: Mapping[str, str]
    text: str
    rest: str


@dataclass(frozen=True, slots=True)
class _Line:
    """All of an operation but values, regions and place: what dumps repeat, while each of them counts values anew.

    `text` stands after the operands where the operation is printed.
    """

    attributes: Mapping[str, str]
    successors: tuple[str, ...]
    operand_types: tuple[str, ...]
    result_types: tuple[str, ...]
    text: str


@dataclass(slots=True)
class _Block:
    label: str
    arguments: tuple[IrValue, ...]
    ops: list[IrOp] = field(default_factory=list)

    def freeze(self) -> IrBlock:
        return IrBlock(self.label, self.arguments, tuple(self.ops))


def parse_module(text: str, user_file: str) -> IrModule:
    """Parse one dump in generic form; places are resolved for `user_file` (the path the compiler printed).

    Raises `ValueError` naming the line when the text is not generic-form MLIR, or is cut short.
    """
    aliases = {m[1]: m[2].strip() for m in map(_ALIAS.match, text.splitlines()) if m}
    locations = {name: _loc_inside(value) for name, value in aliases.items() if value.startswith("loc(")}
    tops = list(_Reader(text, Places(locations, user_file)).read())
    if not tops:
        raise ValueError("no operation in the dump")
    return IrModule(tops[0], {name: value for name, value in aliases.items() if name not in locations})


class _Reader:
    """Reads line by line, with a stack of open operations."""

    def __init__(self, text: str, places: Places) -> None:
        self._lines = text.splitlines()
        self._places = places
        self._stack: list[_Open] = []
        self._blocks: list[_Block] = [_Block("", ())]

    def read(self) -> Iterator[IrOp]:
        for number, raw in enumerate(self._lines, 1):
            line = raw.strip()
            if not line or line.startswith(("//", "#", "!")):
                continue
            if line.startswith("{-#"):  # resources follow to the end of the file
                break
            try:
                self._take(line)
            except (ValueError, IndexError) as error:
                raise ValueError(f"line {number} is not generic-form MLIR: {line[:120]!r}") from error
        if self._stack:
            raise ValueError(f"the dump ends inside {self._stack[-1].head['name']}")
        yield from self._blocks[0].ops

    def _take(self, line: str) -> None:
        if line.startswith("^"):
            self._open_block(line)
        elif line.startswith("}, {"):
            self._stack[-1].regions[-1].append(self._blocks.pop().freeze())
            self._open_region()
        elif line.startswith("})"):
            self._close_op(*_split_location(line[2:].strip()))
        else:
            self._open_op(line)

    def _open_region(self) -> None:
        self._stack[-1].regions.append([])
        self._blocks.append(_Block("", ()))

    def _open_block(self, line: str) -> None:
        found = _LABEL.match(line)
        if not found:
            raise ValueError("bad block label")
        arguments = tuple(_argument(a) for a in split_commas(found[2] or ""))
        current = self._blocks[-1]
        if current.ops or current.label:
            self._stack[-1].regions[-1].append(self._blocks.pop().freeze())
            self._blocks.append(_Block(found[1], arguments))
        else:
            current.label, current.arguments = found[1], arguments

    def _open_op(self, line: str) -> None:
        body, location = (line, None) if line.endswith("({") else _split_location(line)
        head = _HEAD.match(body)
        if not head:
            raise ValueError("not an operation")
        whole = _parse_line(body[head.end() :])
        if whole is not None:
            self._add(head, whole, (), location)
            return
        if len(self._stack) >= MAX_DEPTH:
            raise ValueError("nested too deeply")
        opening = _parse_opening(body[head.end() :])
        self._stack.append(_Open(head, opening))
        self._open_region()
        if opening.rest[2:].startswith("})"):  # an empty region on one line
            self._close_op(opening.rest[4:].strip(), location)

    def _close_op(self, rest: str, location: str | None) -> None:
        block = self._blocks.pop()
        opened = self._stack.pop()
        if block.ops or block.label:
            opened.regions[-1].append(block.freeze())
        regions = tuple(tuple(r) for r in opened.regions)
        opening = opened.opening
        self._add(opened.head, _join(opening, rest, opening.text), regions, location)

    def _add(self, head: re.Match[str], line: _Line, regions: _Regions, location: str | None) -> None:
        place = self._places.resolve(location) if location is not None else None
        self._blocks[-1].ops.append(_make_op(head, line, regions, place))


def _make_op(head: re.Match[str], line: _Line, regions: _Regions, place: Place | None) -> IrOp:
    results, name, operands = head.groups()
    names = operands.split(", ") if operands else ()
    if len(line.operand_types) < len(names):
        raise ValueError("more values than types")
    return IrOp(
        name,
        tuple(map(_value, names, line.operand_types)),
        tuple(map(_value, _result_names(results, len(line.result_types)), line.result_types)) if results else (),
        line.attributes, regions, line.successors, place, (head[0] + line.text).strip(),
    )  # fmt: skip


@lru_cache(_REMEMBERED)
def _value(name: str, kind: str) -> IrValue:
    """Make each value once; numbers and types repeat from dump to dump."""
    return IrValue(name, kind)


@lru_cache(_REMEMBERED)
def _parse_line(rest: str) -> _Line | None:
    """Read what follows the operands, the location left out; None for an operation that opens a region."""
    opening = _parse_opening(rest)
    if opening.rest.startswith("({"):
        return None
    _, types = _parse_tail(opening.rest)
    return _join(opening, opening.rest, f"{opening.text} : {types}".lstrip())


def _join(opening: _Opening, rest: str, text: str) -> _Line:
    """Put what stands before the regions of an operation together with what follows them."""
    discardable, types = _parse_tail(rest)
    operands, results = _function_type(types)
    return _Line({**opening.properties, **discardable}, opening.successors, operands, results, text)


@lru_cache(_REMEMBERED)
def _parse_opening(rest: str) -> _Opening:
    """Read successors and properties."""
    whole = rest
    successors: tuple[str, ...] = ()
    if rest.startswith("["):
        stop = closing(rest, 0)
        successors = tuple(split_commas(rest[1 : stop - 1]))
        rest = rest[stop:].strip()
    properties: dict[str, str] = {}
    if rest.startswith("<{"):
        stop = closing(rest, 0)
        properties = _parse_pairs(rest[2 : stop - 2])
        rest = rest[stop:].strip()
    return _Opening(successors, properties, whole[: len(whole) - len(rest)].strip(), rest)


@lru_cache(_REMEMBERED)
def _parse_tail(rest: str) -> tuple[dict[str, str], str]:
    """Read what follows the regions, the location left out: discardable attributes, the type without its colon."""
    discardable: dict[str, str] = {}
    if rest.startswith("{"):
        end = closing(rest, 0)
        discardable = _parse_pairs(rest[1 : end - 1])
        rest = rest[end:].strip()
    return discardable, rest.removeprefix(":").strip()


@lru_cache(_REMEMBERED)
def _parse_pairs(text: str) -> dict[str, str]:
    """Read attributes once; nobody changes the dictionary, each operation gets a copy."""
    return split_pairs(text)


def _result_names(text: str, types: int) -> tuple[str, ...]:
    """Write packs such as `%1:2` out; raises `ValueError` when there are more values than types, before making any."""
    names: tuple[str, ...]
    if ":" not in text and "," not in text:  # most operations make one value
        known, names = types > 0, (text,)
    else:
        packs = [(name, int(count) if count else None) for name, count in _RESULT.findall(text)]
        known = sum(1 if count is None else count for _, count in packs) <= types
        names = tuple(name for pack in packs for name in _unpack(*pack)) if known else ()
    if not known:
        raise ValueError("more values than types")
    return names


def _unpack(name: str, count: int | None) -> list[str]:
    return [name] if count is None else [f"{name}#{i}" for i in range(count)]


def _argument(text: str) -> IrValue:
    name, _, kind = text.partition(":")
    return IrValue(name.strip(), _split_location(kind.strip())[0])


def _split_location(text: str) -> tuple[str, str | None]:
    """Split `types loc(x)` into the types and x; MLIR prints the location last."""
    at = text.rfind(" loc(") if not text.startswith("loc(") else 0
    # A nested "loc(" never occurs inside a location: callsite and fused print their parts bare or as aliases.
    if at < 0:
        return text, None
    return text[:at].strip(), _loc_inside(text[at:].strip())


def _loc_inside(text: str) -> str:
    if text.find(")") == len(text) - 1 and "(" not in text[len("loc(") :]:  # an alias, or a plain place: most are
        return text[len("loc(") : -1]
    return text[len("loc(") : closing(text, len("loc")) - 1]


@lru_cache(_REMEMBERED)
def _function_type(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split `(a, b) -> (c)` or `(a) -> c` into operand and result types."""
    end = closing(text, 0)
    inputs = tuple(split_commas(text[1 : end - 1]))
    outputs = text[end:].strip().removeprefix("->").strip()
    if outputs.startswith("("):
        stop = closing(outputs, 0)
        if stop == len(outputs):  # else a single function type, `(i32) -> i32`
            return inputs, tuple(split_commas(outputs[1:-1]))
    return inputs, (outputs,) if outputs else ()

"""The device function of Linalg IR: its name, the user's arguments, and the external functions it declares."""

from __future__ import annotations

import re
from dataclasses import dataclass

from indexer.ir.brackets import closing, split_commas

_DEFINED = re.compile(r"func\.func (?:public )?@([\w.$-]+)\(")
_DECLARED = re.compile(r"^\s*func\.func private @([\w.$-]+)(?=\()", re.MULTILINE)
_MEMREF = re.compile(r"memref<\?x([^,>]+)>")
# The compilers' own arguments in front of the user's (triton-ascend@23ac2717:ascend/triton-adapter/lib/TritonToLinalg).
_HIDDEN = re.compile(r"\b(?:SyncBlockLockArgIdx|WorkspaceArgIdx) = (\d+)")
# Behind the user's: the grid's three sizes, then the program's three indices, all i32.
GRID_ARGUMENTS = 6

# How LLVM IR spells MLIR's scalar types.
LLVM_TYPES = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "index": "i64",
    "f16": "half",
    "bf16": "bfloat",
    "f32": "float",
    "f64": "double",
}


@dataclass(frozen=True, slots=True)
class DeviceArgument:
    """One argument: its MLIR element or scalar type; a pointer is a rank-one memref."""

    type: str
    pointer: bool


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """The kernel as the compiler made it; `hidden` arguments precede the user's `arguments`."""

    name: str
    hidden: int
    arguments: tuple[DeviceArgument, ...]


@dataclass(frozen=True, slots=True)
class ExternalFunction:
    """A declaration without body, to be defined by us: `span` is its place in the text."""

    name: str
    arguments: tuple[str, ...]
    result: str
    span: tuple[int, int]


class Unreadable(ValueError):
    """The text has no device function of the expected form; the message says what was found."""


def read_function(text: str) -> DeviceFunction:
    """Read the only function with a body; raises `Unreadable`."""
    names = list(_DEFINED.finditer(text))
    if len(names) != 1:
        raise Unreadable(f"{len(names)} functions")
    start = names[0].end() - 1
    end = closing(text, start)
    types = [_argument_type(part) for part in split_commas(text[start + 1 : end - 1])]
    hidden = len(_HIDDEN.findall(text[end : text.find("\n", end)]))
    if len(types) < hidden + GRID_ARGUMENTS or any(t != "i32" for t in types[-GRID_ARGUMENTS:]):
        raise Unreadable(f"arguments {', '.join(types)}")
    return DeviceFunction(names[0][1], hidden, tuple(map(_argument, types[hidden:-GRID_ARGUMENTS])))


def _argument_type(part: str) -> str:
    """Read the type of `%arg0: T {attributes} loc(…)`."""
    text = part.partition(":")[2].strip()
    if text.startswith("memref<"):
        return text[: closing(text, text.index("<"))]
    return re.split(r"[\s{]", text, maxsplit=1)[0]


def _argument(text: str) -> DeviceArgument:
    memref = _MEMREF.fullmatch(text)
    element = memref[1] if memref else text
    if element not in LLVM_TYPES:
        raise Unreadable(f"argument of type {text}")
    return DeviceArgument(element, pointer=memref is not None)


def read_externals(text: str) -> list[ExternalFunction]:
    """Read the declarations, in order."""
    found = []
    for match in _DECLARED.finditer(text):
        start = match.end()
        end = closing(text, start)
        line_end = text.find("\n", end)
        arrow = re.match(r"\s*->\s*", text[end:line_end])
        result = _first_type(text[end + arrow.end() : line_end]) if arrow else ""
        arguments = tuple(_first_type(part) for part in split_commas(text[start + 1 : end - 1]))
        found.append(ExternalFunction(match[1], arguments, result, (match.start(), line_end)))
    return found


def _first_type(text: str) -> str:
    if match := re.match(r"(tensor|memref|vector)<", text):
        return text[: closing(text, match.end() - 1)]
    if text.startswith("("):
        return text[: closing(text, 0)]
    return re.split(r"[\s{]", text, maxsplit=1)[0]

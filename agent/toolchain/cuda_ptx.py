"""PTX and what ptxas says of it -> the instructions of each user line, the registers and the spills."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agent.records import MachineOp

_FILE = re.compile(r'^\s*\.file\s+(\d+) "([^"]*)"(?: "([^"]*)")?')
_LOC = re.compile(r"^\s*\.loc\s+(\d+) (\d+) \d+(?:.*?inlined_at (\d+) (\d+))?")
_OP = re.compile(r"^\s*(?:@!?%p\d+ )?([a-z][\w.:]*)\s*(?:([^;]*);)?")
_MEMORY = re.compile(r"^(ld|st|atom|red)\.")
_VECTOR = re.compile(r"\.v(\d)(?:\.|$)")
_ELEMENT = re.compile(r"\.[bufs](?:f)?(8|16|32|64|128)(?:x(\d))?$")
_COPY = re.compile(r"^cp\.async\.\w+\.shared")
_COPIED = re.compile(r"\],\s*\[[^\]]*\],\s*(0x[0-9a-f]+|\d+)")


@dataclass(frozen=True, slots=True)
class Usage:
    """What ptxas says: registers a thread, bytes of stack, of spill stores and of spill loads a thread."""

    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int


def read_ptx(text: str, user_file: str) -> tuple[MachineOp, ...]:
    """Count the instructions by opcode, width and user line; what has no line of `user_file` has None."""
    found = Counter(_instructions(text, user_file))
    return tuple(MachineOp(opcode, line, width, n) for (opcode, line, width), n in found.items())


def _instructions(text: str, user_file: str) -> Iterator[tuple[str, int | None, int]]:
    files = _user_files(text, user_file)
    line: int | None = None
    for raw in text.splitlines():
        located = _LOC.match(raw)
        if located is not None:
            line = _line_of(located, files)
            continue
        op = _OP.match(raw)
        if op is not None and not raw.lstrip().startswith((".", "//", "$")):
            yield op[1], line, _width(op[1], op[2] or "")


def _user_files(text: str, user_file: str) -> frozenset[str]:
    name = user_file.rsplit("/", 1)[-1]
    found = (_FILE.match(raw) for raw in text.splitlines() if ".file" in raw)
    return frozenset(m[1] for m in found if m is not None and (m[3] or m[2]).rsplit("/", 1)[-1] == name)


def _line_of(located: re.Match[str], files: frozenset[str]) -> int | None:
    """Return the user's line: the instruction's own, else that of the call that it was inlined at."""
    if located[1] in files:
        return int(located[2]) or None
    if located[3] in files:
        return int(located[4]) or None
    return None


def _width(opcode: str, operands: str) -> int:
    """Return the bytes that one thread moves with a memory instruction, 0 for others."""
    if _COPY.match(opcode):
        size = _COPIED.search(operands)
        return int(size[1], 0) if size is not None else 0
    if not _MEMORY.match(opcode):
        return 0
    element = _ELEMENT.search(opcode)
    if element is None:
        return 0
    vector = _VECTOR.search(opcode)
    return int(element[1]) // 8 * int(element[2] or 1) * (int(vector[1]) if vector is not None else 1)


def read_usage(log: str) -> Usage | None:
    """Read the log of `ptxas -v`; None when it says nothing."""
    registers = re.search(r"Used (\d+) registers", log)
    frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    if registers is None:
        return None
    stack, stores, loads = (int(frame[i]) for i in (1, 2, 3)) if frame is not None else (0, 0, 0)
    return Usage(int(registers[1]), stack, stores, loads)

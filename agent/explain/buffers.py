"""The buffers of a module that cannot be planned: whose they are, how long they live, what made them larger."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent.explain.records import BufferUse
from agent.symptoms.structure import Argument, Flow, destination, flows, line_of
from agent.toolchain.resources import memref_bytes
from indexer.ir.records import IrOp, Snapshot
from indexer.ir.types import shaped
from indexer.messages import Message, message

_ON_CHIP = frozenset({"ub", "cbuf", "cc"})
_ALLOC = "memref.alloc"
_COPIES = "hivm.multi_buffer"


@dataclass(frozen=True, slots=True)
class _Life:
    """A buffer with the operations that touch it, by position in program order."""

    alloc: IrOp
    touching: tuple[IrOp, ...]
    first: int
    last: int
    copies: int

    @property
    def bytes(self) -> int:
        return (memref_bytes(self.alloc.results[0].type) or 0) * self.copies


def buffer_uses(snapshot: Snapshot, space: str, source: str) -> tuple[BufferUse, ...]:
    """Return the buffers that a module asks for in one memory, those of the fullest moment first, then by size."""
    named = names_by_line(source)
    uses = [use for flow in flows(snapshot) for use in _uses(flow, space, named)]
    return tuple(sorted(uses, key=lambda use: (not use.at_peak, -use.bytes)))


def names_by_line(source: str) -> dict[int, str]:
    """Return what the statement on each line assigns to: the user's name of a tensor."""
    found: dict[int, str] = {}
    for node in ast.walk(ast.parse(source)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        if targets and isinstance(node, ast.stmt):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[line] = ", ".join(ast.unparse(target) for target in targets)
    return found


def _uses(flow: Flow, space: str, named: Mapping[int, str]) -> Iterator[BufferUse]:
    lives = list(_lives(flow, space))
    peak = _fullest(lives)
    for life in lives:
        line = line_of(life.alloc)
        lines = [line_of(op) for op in life.touching]
        known = [number for number in lines if number is not None]
        yield BufferUse(
            space, life.bytes, life.copies, life.alloc.results[0].type, named.get(line or 0, ""), line,
            known[0] if known else None, known[-1] if known else None, life.first <= peak <= life.last,
            tuple(_added(life, flow)),
        )  # fmt: skip


def _lives(flow: Flow, space: str) -> Iterator[_Life]:
    position = {id(op): number for number, op in enumerate(flow.ops)}
    touching: dict[int, list[IrOp]] = {}
    for op in flow.ops:
        for index in range(len(op.operands)):
            made = flow.storage(op, index)
            if isinstance(made, IrOp) and made.name == _ALLOC:
                touching.setdefault(id(made), []).append(op)
    for op in flow.ops:
        kind = shaped(op.results[0].type) if op.name == _ALLOC else None
        if kind is None or kind.space != space or space not in _ON_CHIP:
            continue
        marks = [t for t in touching.get(id(op), ()) if t.name == "annotation.mark"]
        real = tuple(t for t in touching.get(id(op), ()) if t.name != "annotation.mark" and not _is_view(t))
        spans = [_span(flow, t, op, position) for t in real] or [(position[id(op)], position[id(op)])]
        yield _Life(op, real, min(s[0] for s in spans), max(s[1] for s in spans), _copies(marks))


def _is_view(op: IrOp) -> bool:
    return op.name.startswith("memref.") and bool(op.results)


def _span(flow: Flow, op: IrOp, alloc: IrOp, position: Mapping[int, int]) -> tuple[int, int]:
    """Return the positions that a use keeps a buffer for: in a loop that the buffer is made before, the whole loop."""
    outside = {id(parent) for parent in flow.parents(alloc)}
    around = next((loop for loop in flow.loops(op) if id(loop) not in outside), op)
    start = position[id(around)]
    return start, start + sum(1 for _ in around.walk()) - 1


def _copies(marks: Iterable[IrOp]) -> int:
    counts = [int(text.split(":")[0]) for mark in marks if (text := mark.attributes.get(_COPIES, "")).split(":")[0]]
    return max(counts, default=1)


def _fullest(lives: list[_Life]) -> int:
    """Return the position where most bytes are live."""
    return max((life.first for life in lives), key=lambda at: _live_at(lives, at), default=0)


def _live_at(lives: list[_Life], at: int) -> int:
    return sum(life.bytes for life in lives if life.first <= at <= life.last)


def _added(life: _Life, flow: Flow) -> Iterator[Message]:
    if life.copies > 1:
        yield message("explain.added_copies", copies=life.copies)
    useful = _useful_bytes(life, flow)
    if useful is not None and 0 < useful < life.bytes // life.copies:
        yield message("explain.added_padding", useful=useful, bytes=life.bytes // life.copies)
    if "is_tmpbuf" in life.alloc.attributes and life.touching:
        yield message("explain.added_scratch", op=life.touching[0].name)
    own = shaped(life.alloc.results[0].type)
    for op in life.touching:
        source = shaped(op.operands[0].type) if op.name == "hivm.hir.vcast" else None
        if source and own and _writes(op, life.alloc, flow) and source.element_bits < own.element_bits:
            yield message("explain.added_cast", before=source.element, after=own.element)


def _writes(op: IrOp, alloc: IrOp, flow: Flow) -> bool:
    index = destination(op)
    return index is not None and flow.storage(op, index) is alloc


def _useful_bytes(life: _Life, flow: Flow) -> int | None:
    """Return the bytes of what the kernel copies into a buffer, None where it is not filled by a copy."""
    sizes = []
    for op in life.touching:
        source = flow.storage(op, 0) if op.operands else None
        kind = shaped(op.operands[0].type) if op.operands else None
        if isinstance(source, Argument) and kind is not None and kind.space in {"gm", ""} and None not in kind.shape:
            sizes.append(memref_useful(op.operands[0].type))
    return max(sizes, default=None)


def memref_useful(kind: str) -> int:
    """Return the bytes of the elements of a view, what lies between them not counted."""
    found = shaped(kind)
    return found.bytes if found is not None else 0

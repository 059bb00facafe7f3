"""How full the memories of the chip are while a program runs: planned buffers from their first use to their last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.perf.arithmetic import read_constant
from agent.perf.records import Fill, Occupancy
from indexer.ir.records import IrOp
from indexer.ir.types import memref

_MEMORIES = {"ub": "ub", "cbuf": "l1", "cc": "l0c"}  # as the user knows them
_BUFFER = "hivm.hir.pointer_cast"
_VIEWS = ("memref.", "arith.select", "hivm.hir.bitcast", "scf.yield", "builtin.unrealized_conversion_cast")
_ACCESSES = frozenset({"memref.load", "memref.store", "memref.copy"})


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A buffer with the places of its copies: first and last byte of each."""

    space: str
    copies: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class _Walk:
    """A function in the order of its code: lines of operations, buffers, and from where to where each is in use."""

    lines: list[int | None]
    aliases: dict[str, frozenset[str]]
    buffers: dict[str, _Buffer]
    defined: dict[str, int]
    used: dict[str, tuple[int, int]]
    constants: dict[str, int]
    loops: list[int]

    def visit(self, op: IrOp) -> None:
        """Visit an operation and what it holds."""
        at = len(self.lines)
        self.lines.append(op.place.line if op.place else None)
        if op.name == "arith.constant" and op.results:
            value = read_constant(op.attributes.get("value", ""))
            self.constants[op.results[0].name] = value if isinstance(value, int) else 0
        elif op.name == _BUFFER:
            self._define(op, at)
            return
        touched = frozenset().union(*(self.aliases.get(operand.name, frozenset()) for operand in op.operands))
        if touched and op.name.startswith(_VIEWS) and op.name not in _ACCESSES:
            self.aliases |= {result.name: touched for result in op.results}
            return
        self._use(touched, at, at)
        is_loop = op.name in {"scf.for", "scf.while"}
        if is_loop:
            self.loops.append(at)
        for block in (block for region in op.regions for block in region):
            self.aliases |= {argument.name: touched for argument in block.arguments if "memref<" in argument.type}
            for inner in block.ops:
                self.visit(inner)
        if is_loop:
            self.loops.pop()
            # What comes from outside is in use as long as the loop goes round.
            last = len(self.lines) - 1
            outside = [name for name, (_, end) in self.used.items() if end > at and self.defined[name] < at]
            self._use(outside, at, last)
        self.aliases |= {result.name: touched for result in op.results if "memref<" in result.type}

    def _define(self, op: IrOp, at: int) -> None:
        kind = memref(op.results[0].type)
        if kind is None or kind.space not in _MEMORIES or kind.span_bytes is None:
            return
        name = op.results[0].name
        places = [self.constants[operand.name] for operand in op.operands if operand.name in self.constants]
        self.buffers[name] = _Buffer(kind.space, tuple((place, place + kind.span_bytes) for place in places or [0]))
        self.aliases[name], self.defined[name] = frozenset({name}), at

    def _use(self, names: Iterable[str], first: int, last: int) -> None:
        for name in names:
            low, high = self.used.get(name, (first, last))
            self.used[name] = min(low, first), max(high, last)


def follow_occupancy(
    functions: Sequence[IrOp], limits: Mapping[str, int], by_line: Mapping[int | None, float]
) -> tuple[Occupancy, ...]:
    """Return the curve of each memory that a program's functions use, the fuller of two cores' own ones.

    `limits` are in bytes by memory (ub, l1, l0c); `by_line` is the predicted time of each line.
    """
    found: dict[str, Occupancy] = {}
    for function in functions:
        walk = _Walk([], {}, {}, {}, {}, {}, [])
        walk.visit(function)
        for space, memory in _MEMORIES.items():
            curve = tuple(_curve(walk, space, by_line))
            if curve and memory in limits:
                own = Occupancy(memory, limits[memory], curve)
                other = found.get(memory)
                if other is None or other.peak.bytes < own.peak.bytes:
                    found[memory] = own
    return tuple(found.values())


def _curve(walk: _Walk, space: str, by_line: Mapping[int | None, float]) -> Iterator[Fill]:
    """Yield where the bytes taken in `space` change."""
    spans = [(walk.used[name], b) for name, b in walk.buffers.items() if b.space == space and name in walk.used]
    changes = sorted({at for (first, last), _ in spans for at in (first, last + 1)})
    times = _times(walk.lines, by_line)
    before = 0
    for at in changes:
        taken = _union([copy for (first, last), b in spans if first <= at <= last for copy in b.copies])
        if taken != before:
            line = next((line for line in walk.lines[at:] if line is not None), None)
            yield Fill(times[min(at, len(times) - 1)], taken, line)
            before = taken


def _union(ranges: Iterable[tuple[int, int]]) -> int:
    """Return how many bytes lie in at least one of the ranges: buffers share places."""
    total, reached = 0, -1
    for low, high in sorted(ranges):
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total


def _times(lines: Sequence[int | None], by_line: Mapping[int | None, float]) -> list[float]:
    """Return at which share of the predicted time each operation begins, a line's time spread over its operations."""
    counts: dict[int | None, int] = defaultdict(int)
    for line in lines:
        counts[line] += 1
    own = [by_line.get(line, 0.0) / counts[line] if line is not None else 0.0 for line in lines]
    total, passed = sum(own) or 1.0, 0.0
    shares = []
    for time in own:
        shares.append(passed / total)
        passed += time
    return [*shares, 1.0]

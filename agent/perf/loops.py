"""Counted loops: when every iteration does the same, two are followed and the rest is added exactly; else a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.perf.arithmetic import Value
from agent.perf.events import Tally
from agent.perf.memref import MemRef
from indexer.ir.records import IrOp, IrValue

Variation = Literal["none", "smooth", "any"]
# A loop up to this long is followed whole. Where sizes only grow or shrink on the way, as with a mask at the end, equal
# work at both ends and in the middle means equal work between.
_FULL: dict[Variation, int] = {"none": 2, "smooth": 4, "any": 24}
_BUDGET = 24  # iterations of a longer one that are followed
Body = Callable[[int, Sequence[Value]], tuple[Tally, Sequence[Value]]]


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """All iterations together, the values after the last, and whether some were interpolated."""

    tally: Tally
    carried: Sequence[Value]
    sampled: bool = False


def run_iterations(body: Body, trips: int, carried: Sequence[Value], variation: Variation) -> Extrapolation:
    """Follow a loop of `trips` iterations; `variation` tells how its work depends on the iteration."""
    total, state = Tally(), carried
    if trips == 0:
        return Extrapolation(total, state)
    if trips <= 2 or trips <= _FULL[variation]:
        for index in range(trips):
            tally, state = body(index, state)
            total.merge(tally)
        return Extrapolation(total, state)
    first, after_first = body(0, state)
    second, after_second = body(1, after_first)
    total.merge(first)
    if variation == "none":
        total.merge(second, trips - 1)
        return Extrapolation(total, _advance(after_first, after_second, trips - 1))
    total.merge(second)
    sampled = _Sampler(body, after_first, after_second).add(total, 2, trips - 1)
    return Extrapolation(total, _advance(after_first, after_second, trips - 1), sampled)


def _advance(first: Sequence[Value], second: Sequence[Value], steps: int) -> list[Value]:
    """Return carried values `steps` iterations after `first`: numbers keep their step, views their shape."""
    return [_extend(a, b, steps) for a, b in zip(first, second, strict=False)]


def _extend(a: Value, b: Value, steps: int) -> Value:
    if isinstance(a, MemRef) or isinstance(b, MemRef):
        return b
    if isinstance(a, int) and isinstance(b, int):
        return a + (b - a) * steps
    return None


class _Sampler:
    """Splits a range of iterations until both ends do the same, or the budget is spent."""

    def __init__(self, body: Body, after_first: Sequence[Value], after_second: Sequence[Value]) -> None:
        self._body = body
        self._states = (after_first, after_second)
        self._left = _BUDGET

    def _at(self, index: int) -> Tally:
        self._left -= 1
        return self._body(index, _advance(*self._states, index - 1))[0]

    def add(self, total: Tally, low: int, high: int) -> bool:
        """Add iterations `low` to `high` to `total`; returns whether some were interpolated between unequal ends."""
        ends = (self._at(low), self._at(high) if high > low else None)
        total.merge(ends[0])
        if ends[1] is None:
            return False
        total.merge(ends[1])
        return self._between(total, (low, ends[0]), (high, ends[1]))

    def _between(self, total: Tally, low: tuple[int, Tally], high: tuple[int, Tally]) -> bool:
        """Add the iterations strictly between two that were followed, breadth first so that the budget is spread."""
        pending, sampled = [(low, high)], False
        while pending:
            (a, at_a), (b, at_b) = pending.pop(0)
            inside = b - a - 1
            if inside <= 0:
                continue
            if (at_a == at_b and (a, b) != (low[0], high[0])) or self._left <= 0:
                sampled = sampled or at_a != at_b
                total.merge(at_a, inside / 2)
                total.merge(at_b, inside / 2)
                continue
            middle = (a + b) // 2
            at_middle = self._at(middle)
            total.merge(at_middle)
            pending += [((a, at_a), (middle, at_middle)), ((middle, at_middle), (b, at_b))]
        return sampled


_STEERED = {"scf.for": 3, "scf.if": 1}  # how many leading operands decide what runs
# Operations through which a number goes up and down again as the loop goes on.
_BUMPY = frozenset({
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.andi", "arith.ori", "arith.xori", "arith.shrsi",
    "arith.shrui", "arith.shli", "arith.trunci", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui",
    "memref.load",
})  # fmt: skip


def tell_variation(loop: IrOp) -> Variation:
    """Tell how a bound, branch or size inside `loop` depends on its induction variable or a carried number."""
    body = loop.regions[0][0]
    tainted = _numbers(body.arguments)
    bumpy = False
    decided = False
    for top in body.ops:
        for op, parents in top.walk_with_parents():
            decided = decided or _decides(op, tainted)
            if any(operand.name in tainted for operand in op.operands):
                bumpy = bumpy or op.name in _BUMPY or "mod" in op.attributes.get("map", "")
                around = parents[-1:] if op.name in {"scf.yield", "scf.condition"} else ()
                for holder in (op, *around):  # what a region yields becomes its operation's results
                    tainted |= _numbers(holder.results)
                tainted |= {name for region in op.regions for block in region for name in _numbers(block.arguments)}
    return "any" if decided and bumpy else "smooth" if decided else "none"


def _numbers(values: Sequence[IrValue]) -> set[str]:
    return {value.name for value in values if not value.type.startswith("memref<")}


def _decides(op: IrOp, tainted: set[str]) -> bool:
    names = [operand.name for operand in op.operands]
    if op.name in _STEERED:
        return any(name in tainted for name in names[: _STEERED[op.name]])
    if op.name in {"scf.while", "func.call"}:
        return any(name in tainted for name in names)
    if op.name in {"memref.subview", "memref.reinterpret_cast"}:
        return any(name in tainted for name in names[1 + _offsets(op) :])
    if "mmad" in op.name:  # its sizes are operands of type index
        return any(o.name in tainted for o in op.operands if o.type == "index")
    return False


def _offsets(op: IrOp) -> int:
    """Return how many operands are offsets, which change no shape."""
    return op.attributes.get("static_offsets", "").count("-9223372036854775808")

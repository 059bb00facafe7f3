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
# Loops up to these lengths are followed whole. Where sizes only grow or shrink on the way, as with a mask at the end,
# equal work at both ends and in the middle means equal work between.
_FEW, _NESTED, _WHOLE = 4, 12, 24
_PROBES = 5
_GOLDEN = 0.6180339887498949
Body = Callable[[int, Sequence[Value]], tuple[Tally, Sequence[Value]]]


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """All iterations together, the values after the last, and whether some were interpolated."""

    tally: Tally
    carried: Sequence[Value]
    sampled: bool = False


def run_iterations(
    body: Body, trips: int, carried: Sequence[Value], variation: Variation, *, nested: bool = False
) -> Extrapolation:
    """Follow a loop of `trips` iterations; `variation` tells how its work depends on the iteration.

    Of a `nested` loop fewer are followed: it is met again in other iterations around it.
    """
    total, state = Tally(), carried
    if trips == 0:
        return Extrapolation(total, state)
    whole = {"none": 2, "smooth": _FEW, "any": _NESTED if nested else _WHOLE}[variation]
    if trips <= whole:
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
    sampler = _Sampler(body, after_first, after_second, _NESTED if nested else _WHOLE)
    sampled = sampler.spread(total, 2, trips - 1) if variation == "any" else sampler.add(total, 2, trips - 1)
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


def _places(count: int, wanted: int) -> list[int]:
    """Return `wanted` of `count` places, one in each of equal stretches."""
    stretch = count / wanted
    return [int((i + (i * _GOLDEN) % 1) * stretch) for i in range(wanted)]


class _Sampler:
    """Splits a range of iterations until both ends do the same, or the budget is spent."""

    def __init__(self, body: Body, after_first: Sequence[Value], after_second: Sequence[Value], budget: int) -> None:
        self._body = body
        self._states = (after_first, after_second)
        self._left = budget

    def _at(self, index: int) -> Tally:
        self._left -= 1
        return self._body(index, _advance(*self._states, index - 1))[0]

    def spread(self, total: Tally, low: int, last: int) -> bool:
        """Add iterations `low` to `last` by a sample at uneven places, so that no period of the loop is hit.

        The last one, where masks cut, counts for itself. Returns whether the others differed.
        """
        total.merge(self._at(last))
        count = last - low
        probes = [self._at(low + place) for place in _places(count, _PROBES)]
        if all(probe == probes[0] for probe in probes):
            total.merge(probes[0], count)
            return False
        probes += [self._at(low + place) for place in _places(count, self._left)]
        for probe in probes:
            total.merge(probe, count / len(probes))
        return True

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
# Operations through which a number goes up and down again as the loop goes on; a division or a bound only goes one way.
_BUMPY = frozenset({
    "arith.remsi", "arith.remui", "arith.andi", "arith.ori", "arith.xori", "arith.trunci", "memref.load",
})  # fmt: skip


def tell_variation(loop: IrOp) -> Variation:
    """Tell how a bound, branch or size inside `loop` depends on its induction variable or a carried number."""
    steady = _numbers(loop.regions[0][0].arguments)  # goes one way as the loop goes on
    bumpy: set[str] = set()
    found: Variation = "none"
    for top in loop.regions[0][0].ops:
        for op, parents in top.walk_with_parents():
            deciding = _deciding(op)
            if deciding & bumpy:
                return "any"
            if deciding & steady:
                found = "smooth"
            operands = {operand.name for operand in op.operands}
            if not operands & (steady | bumpy):
                continue
            turns = op.name in _BUMPY or "mod" in op.attributes.get("map", "") or bool(operands & bumpy)
            (bumpy if turns else steady).update(_reached(op, parents))
    return found


def _reached(op: IrOp, parents: tuple[IrOp, ...]) -> set[str]:
    """Return the numbers that `op` gives on: results, what its regions start with, what it yields to the outside."""
    names = _numbers(op.results)
    if op.name in {"scf.yield", "scf.condition"} and parents:
        names |= _numbers(parents[-1].results)
    return names | {name for region in op.regions for block in region for name in _numbers(block.arguments)}


def _numbers(values: Sequence[IrValue]) -> set[str]:
    return {value.name for value in values if not value.type.startswith("memref<")}


def _deciding(op: IrOp) -> set[str]:
    """Return the operands of `op` that decide what runs or how large it is."""
    names = [operand.name for operand in op.operands]
    if op.name in _STEERED:
        return set(names[: _STEERED[op.name]])
    if op.name in {"scf.while", "func.call"}:
        return set(names)
    if op.name in {"memref.subview", "memref.reinterpret_cast"}:
        return set(names[1 + _offsets(op) :])
    if "mmad" in op.name:  # its sizes are operands of type index
        return {operand.name for operand in op.operands if operand.type == "index"}
    return set()


def _offsets(op: IrOp) -> int:
    """Return how many operands are offsets, which change no shape."""
    return op.attributes.get("static_offsets", "").count("-9223372036854775808")

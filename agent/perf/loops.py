"""Counted loops: when every iteration does the same, two are followed and the rest is added exactly; else a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.perf.arithmetic import Value
from agent.perf.events import Tally
from agent.perf.memref import MemRef
from indexer.ir.records import IrOp, IrValue

_FULL = 24  # a loop up to this long is followed whole
_BUDGET = 24  # iterations of a longer one that are followed
Body = Callable[[int, Sequence[Value]], tuple[Tally, list[Value]]]


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """All iterations together, the values after the last, and whether some were interpolated."""

    tally: Tally
    carried: list[Value]
    sampled: bool = False


def run_iterations(body: Body, trips: int, carried: Sequence[Value], varies: bool) -> Extrapolation:  # noqa: FBT001
    """Follow a loop of `trips` iterations; `varies` tells that its work may depend on the iteration."""
    total, state = Tally(), list(carried)
    if trips == 0:
        return Extrapolation(total, state)
    if trips <= 2 or (varies and trips <= _FULL):
        for index in range(trips):
            tally, state = body(index, state)
            total.merge(tally)
        return Extrapolation(total, state)
    first, after_first = body(0, state)
    second, after_second = body(1, after_first)
    total.merge(first)
    if not varies:
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
            if at_a == at_b or self._left <= 0:
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


def steers_itself(loop: IrOp) -> bool:
    """Tell whether a bound, branch or size inside `loop` depends on its induction variable or a carried number."""
    body = loop.regions[0][0]
    tainted = _numbers(body.arguments)
    for top in body.ops:
        for op, parents in top.walk_with_parents():
            if _decides(op, tainted):
                return True
            if any(operand.name in tainted for operand in op.operands):
                around = parents[-1:] if op.name in {"scf.yield", "scf.condition"} else ()
                for holder in (op, *around):  # what a region yields becomes its operation's results
                    tainted |= _numbers(holder.results)
                tainted |= {name for region in op.regions for block in region for name in _numbers(block.arguments)}
    return False


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

"""Where the elements of a tile of pointers lie: by how much the address moves along each axis of the tile."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.gpu.ttgir import tile
from agent.symptoms.structure import LOOPS, Argument, Flow, Producer
from indexer.ir.records import IrOp

# A step that is no number: a value known when the kernel runs, a loaded one, one from a division, or anything else.
Unknown = Literal["uniform", "loaded", "divided", "other"]
Step = int | Unknown
_RANK: dict[Step, int] = {"uniform": 1, "other": 2, "divided": 3, "loaded": 4}
_SAME = frozenset({
    "arith.extsi", "arith.extui", "arith.trunci", "ttg.convert_layout", "tt.broadcast", "arith.index_cast",
    "tt.ptr_to_int", "tt.bitcast", "arith.index_castui",
})  # fmt: skip
_DIVISIONS = frozenset({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi"})
_SUMS = frozenset({"arith.addi", "arith.subi", "tt.addptr", "arith.ori", "arith.xori"})
_INTEGER = re.compile(r"(?:dense<)?(-?\d+)>?")


@dataclass(frozen=True, slots=True)
class Address:
    """Steps in elements along each axis of a tile; 0 where the axis does not move the address."""

    steps: tuple[Step, ...]

    @property
    def unit_axis(self) -> int | None:
        """Return the axis along which neighbours are adjacent in memory."""
        return next((i for i, step in enumerate(self.steps) if step == 1), None)


def address_of(flow: Flow, op: IrOp, operand: int = 0) -> Address:
    """Follow the pointer of an access back to the ranges and strides that it is made of."""
    found = tile(op.operands[operand].type)
    rank = len(found.shape) if found is not None else 0
    return Address(_steps(flow, flow.producer(op, operand), rank, set()))


def _steps(flow: Flow, made: Producer | None, rank: int, seen: set[int]) -> tuple[Step, ...]:
    if made is None or rank == 0:
        return (0,) * rank
    if id(made) in seen:
        return (0,) * rank
    seen = seen | {id(made)}
    if isinstance(made, Argument):
        return _steps_of_argument(flow, made, rank, seen)
    rule = _RULES.get(made.name)
    return rule(flow, made, rank, seen) if rule is not None else _all("other", rank)


def _all(step: Step, rank: int) -> tuple[Step, ...]:
    return (step,) * rank


def _steps_of_argument(flow: Flow, made: Argument, rank: int, seen: set[int]) -> tuple[Step, ...]:
    """A value that a loop carries keeps its pattern: what is added each time is the same for the whole tile."""
    if made.owner.name not in LOOPS:
        return (0,) * rank
    first = 3 if made.owner.name == "scf.for" else 0
    number = made.index - (1 if made.owner.name == "scf.for" else 0)
    return _steps(flow, flow.producer(made.owner, first + number), rank, seen) if number >= 0 else (0,) * rank


def _range(_flow: Flow, _op: IrOp, rank: int, _seen: set[int]) -> tuple[Step, ...]:
    return (1,) * rank


def _none(_flow: Flow, _op: IrOp, rank: int, _seen: set[int]) -> tuple[Step, ...]:
    return (0,) * rank


def _loaded(_flow: Flow, _op: IrOp, rank: int, _seen: set[int]) -> tuple[Step, ...]:
    return _all("loaded", rank)


def _same(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    return _steps(flow, flow.producer(op, 0), rank, seen)


def _expanded(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    axis = int(re.sub(r"\D.*", "", op.attributes.get("axis", "0").strip()) or 0)
    inner = _steps(flow, flow.producer(op, 0), rank - 1, seen)
    return (*inner[:axis], 0, *inner[axis:])


def _transposed(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    order = [int(n) for n in re.findall(r"\d+", op.attributes.get("order", "").partition(":")[2])]
    inner = _steps(flow, flow.producer(op, 0), rank, seen)
    return tuple(inner[i] for i in order) if sorted(order) == list(range(rank)) else _all("other", rank)


def _sum(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    both = [_steps(flow, flow.producer(op, i), rank, seen) for i in (0, 1)]
    return tuple(_add(a, b) for a, b in zip(*both, strict=True))


def _add(one: Step, other: Step) -> Step:
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    return max(one, other, key=lambda step: _RANK.get(step, 0))


def _product(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    both = [_steps(flow, flow.producer(op, i), rank, seen) for i in (0, 1)]
    factors = [_factor(flow, op, i) for i in (0, 1)]
    return tuple(_add(_times(a, factors[1]), _times(b, factors[0])) for a, b in zip(*both, strict=True))


def _factor(flow: Flow, op: IrOp, operand: int) -> int | None:
    """Return what a factor is where it is one number for the whole tile, None where only the launch knows it."""
    made = flow.producer(op, operand)
    while isinstance(made, IrOp) and made.name in _SAME | {"tt.splat", "tt.expand_dims"}:
        made = flow.producer(made, 0)
    return constant_of(made)


def constant_of(made: Producer | None) -> int | None:
    """Return the integer that an operation is, None where it is no constant."""
    if not isinstance(made, IrOp) or made.name != "arith.constant":
        return None
    found = _INTEGER.match(made.attributes.get("value", ""))
    return int(found[1]) if found is not None else None


def _times(step: Step, factor: int | None) -> Step:
    if step == 0:
        return 0
    if isinstance(step, int):
        return step * factor if factor is not None else "uniform"
    return step


def _divided(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    inner = _steps(flow, flow.producer(op, 0), rank, seen)
    return tuple("divided" if step != 0 else 0 for step in inner)


def _chosen(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    both = [_steps(flow, flow.producer(op, i), rank, seen) for i in (1, 2)]
    return tuple(a if a == b else "other" for a, b in zip(*both, strict=True))


def _branch(flow: Flow, op: IrOp, rank: int, seen: set[int]) -> tuple[Step, ...]:
    last = [block.ops[-1] for region in op.regions for block in region[-1:] if block.ops]
    ends = [end for end in last if end.name == "scf.yield" and end.operands]
    return _steps(flow, flow.producer(ends[0], 0), rank, seen) if ends else _all("other", rank)


_Rule = Callable[[Flow, IrOp, int, set[int]], tuple[Step, ...]]
_RULES: dict[str, _Rule] = {
    "tt.make_range": _range, "tt.splat": _none, "arith.constant": _none, "tt.load": _loaded,
    "tt.expand_dims": _expanded, "tt.trans": _transposed, "arith.muli": _product, "arith.select": _chosen,
    "arith.minsi": _sum, "arith.maxsi": _sum, "arith.andi": _divided, "arith.shrsi": _divided, "arith.shrui": _divided,
    "scf.if": _branch, "scf.for": _none, "ttg.local_load": _loaded, "tt.atomic_rmw": _loaded, "tt.gather": _loaded,
    **dict.fromkeys(_SAME, _same), **dict.fromkeys(_DIVISIONS, _divided), **dict.fromkeys(_SUMS, _sum),
}  # fmt: skip


_THROUGH = _SAME | {"tt.addptr", "tt.splat", "tt.expand_dims"}


def base_of(flow: Flow, op: IrOp, operand: int = 0) -> int | None:
    """Return which parameter of the kernel an access goes through, None where that cannot be told."""
    made = flow.producer(op, operand)
    for _ in range(256):
        if isinstance(made, Argument):
            if made.owner.name not in LOOPS:
                return made.index
            number = made.index - (1 if made.owner.name == "scf.for" else 0)
            first = 3 if made.owner.name == "scf.for" else 0
            made = flow.producer(made.owner, first + number) if number >= 0 else None
        elif isinstance(made, IrOp) and made.operands and made.name in _THROUGH:
            made = flow.producer(made, 0)
        elif isinstance(made, IrOp) and made.name == "arith.select":
            made = flow.producer(made, 1)
        else:
            return None
    return None

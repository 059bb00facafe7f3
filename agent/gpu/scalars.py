"""Numbers that a launch fixes: what a scalar of the kernel is, and how often its loops run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.gpu.address import constant_of
from agent.records import Launch, ScalarArgument
from agent.symptoms.structure import Argument, Flow, Producer
from indexer.ir.records import IrOp

# A loop whose length only the data knows is counted this often.
UNKNOWN_TRIPS = 8
_DEPTH = 64
_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b, "arith.muli": lambda a, b: a * b,
    "arith.divsi": lambda a, b: int(a / b) if b else 0, "arith.divui": lambda a, b: a // b if b else 0,
    "arith.remsi": lambda a, b: a % b if b else 0, "arith.remui": lambda a, b: a % b if b else 0,
    "arith.minsi": min, "arith.maxsi": max, "arith.minui": min, "arith.maxui": max,
    "arith.ceildivsi": lambda a, b: -(-a // b) if b else 0,
}  # fmt: skip
_SAME = frozenset({"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"})


class Scalars:
    """Evaluates the scalars of one launch, for its first program."""

    def __init__(self, flow: Flow, launch: Launch) -> None:
        self._flow = flow
        values = {a.name: int(a.value) for a in launch.arguments if isinstance(a, ScalarArgument) and _is_whole(a)}
        self._parameters = [values.get(name) for name in launch.signature]
        self._grid: Sequence[int] = launch.grid

    def value(self, made: Producer | None, depth: int = 0) -> int | None:
        """Return what an integer is, None where only the device knows."""
        if made is None or depth > _DEPTH:
            return None
        if isinstance(made, Argument):
            outer = made.owner is self._flow.function
            return self._parameters[made.index] if outer and made.index < len(self._parameters) else None
        if made.name == "arith.constant":
            return constant_of(made)
        if made.name == "tt.get_program_id":
            return 0
        if made.name == "tt.get_num_programs":
            axis = made.attributes.get("axis", "0").split(" ")[0]
            return self._grid[int(axis)] if axis.isdigit() else None
        if made.name in _SAME:
            return self.value(self._flow.producer(made, 0), depth + 1)
        return self._of_two(made, depth)

    def _of_two(self, made: IrOp, depth: int) -> int | None:
        rule = _BINARY.get(made.name)
        if rule is None:
            return None
        a, b = (self.value(self._flow.producer(made, i), depth + 1) for i in (0, 1))
        return rule(a, b) if a is not None and b is not None else None

    def trips(self, loop: IrOp) -> int:
        """Return how often a loop runs; `UNKNOWN_TRIPS` where that is not known."""
        if loop.name != "scf.for":
            return UNKNOWN_TRIPS
        low, high, step = (self.value(self._flow.producer(loop, i)) for i in range(3))
        if low is None or high is None or not step:
            return UNKNOWN_TRIPS
        return max(0, -(-(high - low) // step))

    def runs(self, op: IrOp) -> int:
        """Return how often one program runs an operation."""
        total = 1
        for loop in self._flow.loops(op):
            total *= self.trips(loop)
        return total


def _is_whole(argument: ScalarArgument) -> bool:
    return isinstance(argument.value, int) and not isinstance(argument.value, bool)

"""Abstract execution: a program is followed as it would run, on known numbers and on the shapes of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.perf.affine import evaluate_map
from agent.perf.arithmetic import Value, compute, read_constant
from agent.perf.describe import describe
from agent.perf.events import Scalar, Tally
from agent.perf.loops import Extrapolation, run_iterations, steers_itself
from agent.perf.memref import MemRef, vector_bits
from agent.perf.views import make_view
from indexer.ir.records import IrBlock, IrOp

_WHILE_LIMIT = 64  # iterations of a while loop followed at most
_CALL_LIMIT = 8  # nested calls; outlined functions call no further


@dataclass(frozen=True, slots=True)
class Note:
    """Something assumed on the way: `kind` is a message key of the area perf."""

    kind: str
    line: int | None
    op: str = ""


@dataclass(slots=True)
class Program:
    """One program instance while it is followed; `notes` collects what had to be assumed."""

    functions: Mapping[str, IrOp]
    aliases: Mapping[str, str]
    weigh: Callable[[Tally], float]  # chooses the costlier branch where the condition is not known
    block: int
    sub_block: int
    blocks: int
    steering: dict[int, bool] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    notes: set[Note] = field(default_factory=set)
    env: dict[str, Value] = field(default_factory=dict)
    depth: int = 0

    def run(self, function: IrOp, arguments: Sequence[Value]) -> list[Value]:
        """Follow `function` on `arguments`; returns what it returns."""
        if not function.regions or not function.regions[0]:
            return []
        outer, self.env = self.env, {}
        self.depth += 1
        block = function.regions[0][0]
        self._bind(block, arguments)
        returned = self._follow(block)
        self.depth -= 1
        self.env = outer
        return returned

    def _bind(self, block: IrBlock, values: Sequence[Value]) -> None:
        for argument, value in zip(block.arguments, values, strict=False):
            self.env[argument.name] = value

    def _follow(self, block: IrBlock) -> list[Value]:
        """Follow one block; returns the operands of its terminator."""
        values: list[Value] = []
        for op in block.ops:
            values = [self.env.get(operand.name) for operand in op.operands]
            handler = _CONTROL.get(op.name)
            if handler is not None:
                self._store(op, handler(self, op, values))
            else:
                self._apply(op, values)
        return values

    def _store(self, op: IrOp, results: Sequence[Value]) -> None:
        for index, result in enumerate(op.results):
            self.env[result.name] = results[index] if index < len(results) else None

    def _apply(self, op: IrOp, values: Sequence[Value]) -> None:
        for event in describe(op, values):
            self.tally.add(event)
            if not getattr(event, "known", True):
                self.notes.add(Note("unknown_op", event.line, op.name))
        if op.results:
            self._store(op, self._compute(op, values))

    def _compute(self, op: IrOp, values: Sequence[Value]) -> Sequence[Value]:
        dialect, _, name = op.name.partition(".")
        first = op.results[0].type
        if vector_bits(first):
            return ()
        if first.startswith("memref<") and name != "select":
            return (make_view(op, values),)
        if op.name == "arith.constant":
            return (read_constant(op.attributes["value"]),)
        if dialect == "arith":
            return (compute(name, values, dict(op.attributes), first),)
        if dialect == "affine":
            return (self._affine(op, name, values),)
        if op.name in {"hivm.hir.get_block_idx", "hivm.hir.get_sub_block_idx", "hivm.hir.get_block_num"}:
            return ({"get_block_idx": self.block, "get_block_num": self.blocks}.get(name[4:], self.sub_block),)
        if op.name == "memref.dim" and isinstance(values[0], MemRef) and isinstance(values[1], int):
            return (values[0].sizes[values[1]],)
        return ()

    def _affine(self, op: IrOp, name: str, values: Sequence[Value]) -> Value:
        text = op.attributes.get("map", "")
        numbers = [v if isinstance(v, int) else None for v in values]
        results = evaluate_map(self.aliases.get(text, text), numbers)
        known = [r for r in results if r is not None]
        if len(known) != len(results):
            return None
        return min(known) if name == "min" else max(known) if name == "max" else known[0]

    def iterate(self, op: IrOp, start: int, step: int, trips: int, carried: Sequence[Value]) -> list[Value]:
        """Follow a counted loop and add all its iterations to the tally."""
        block = op.regions[0][0]

        def body(index: int, state: Sequence[Value]) -> tuple[Tally, list[Value]]:
            outer, self.tally = self.tally, Tally()
            self.tally.add(Scalar("scf.for", op.place.line if op.place else None))
            self._bind(block, [start + index * step, *state])
            state = self._follow(block)
            inner, self.tally = self.tally, outer
            return inner, state

        result: Extrapolation = run_iterations(body, trips, carried, self._steers(op))
        self.tally.merge(result.tally)
        if result.sampled:
            self.notes.add(Note("loop_sampled", op.place.line if op.place else None))
        return result.carried

    def _steers(self, op: IrOp) -> bool:
        """Ask once per loop; `functions` keeps the operations alive, so their ids stay theirs."""
        known = self.steering.get(id(op))
        if known is None:
            known = self.steering[id(op)] = steers_itself(op)
        return known

    def alternative(self, block: IrBlock) -> tuple[Tally, list[Value]]:
        """Follow a branch apart, without adding it."""
        outer, self.tally = self.tally, Tally()
        values = self._follow(block)
        inner, self.tally = self.tally, outer
        return inner, values


def _run_for(program: Program, op: IrOp, values: Sequence[Value]) -> list[Value]:
    lower, upper, step, *carried = values
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
        return program.iterate(op, lower, step, max(0, -(-(upper - lower) // step)), carried)
    program.notes.add(Note("loop_on_data", op.place.line if op.place else None))
    return program.iterate(op, lower if isinstance(lower, int) else 0, 1, 1, carried)


def _run_if(program: Program, op: IrOp, values: Sequence[Value]) -> list[Value]:
    branches = [region[0] if region else None for region in op.regions]
    condition = values[0]
    if isinstance(condition, int | float):
        chosen = branches[0] if condition else (branches[1] if len(branches) > 1 else None)
        if chosen is None:
            return []
        tally, result = program.alternative(chosen)
        program.tally.merge(tally)
        return result
    program.notes.add(Note("branch_on_data", op.place.line if op.place else None))
    outcomes = [program.alternative(branch) for branch in branches if branch is not None]
    if not outcomes:
        return []
    tally, result = max(outcomes, key=lambda outcome: program.weigh(outcome[0]))
    program.tally.merge(tally)
    return _agree([values for _, values in outcomes], result)


def _agree(outcomes: list[list[Value]], chosen: list[Value]) -> list[Value]:
    """Keep a result of the chosen branch when it is a view or the same number in all branches."""
    same = [all(index < len(o) and o[index] == value for o in outcomes) for index, value in enumerate(chosen)]
    return [v if isinstance(v, MemRef) or equal else None for v, equal in zip(chosen, same, strict=True)]


def _run_while(program: Program, op: IrOp, values: Sequence[Value]) -> list[Value]:
    """Follow a while loop as long as its condition is known; else count one iteration and say so."""
    before, after = op.regions[0][0], op.regions[1][0]
    state = list(values)
    for count in range(_WHILE_LIMIT + 1):
        program._bind(before, state)  # noqa: SLF001 - the handlers are the class's own, split by operation
        condition, *passed = program._follow(before)  # noqa: SLF001
        if isinstance(condition, int) and not condition:
            return passed
        if count == _WHILE_LIMIT or (condition is None and count == 1):
            break
        program._bind(after, passed)  # noqa: SLF001
        state = program._follow(after)  # noqa: SLF001
    program.notes.add(Note("loop_on_data", op.place.line if op.place else None))
    return [None if not isinstance(value, MemRef) else value for value in passed]


def _run_call(program: Program, op: IrOp, values: Sequence[Value]) -> list[Value]:
    callee = op.attributes.get("callee", "").removeprefix("@").strip('"')
    function = program.functions.get(callee)
    line = op.place.line if op.place else None
    if function is None or not function.regions or not function.regions[0] or program.depth > _CALL_LIMIT:
        program.notes.add(Note("unknown_op", line, f"func.call @{callee}"))
        program.tally.add(Scalar(f"func.call @{callee}", line, known=False))
        return []
    program.tally.add(Scalar("func.call", line))
    return program.run(function, values)


def _run_scope(program: Program, op: IrOp, _values: Sequence[Value]) -> list[Value]:
    """Follow an operation that only holds a region, such as scope.scope or scf.execute_region."""
    result: list[Value] = []
    for region in op.regions:
        for block in region:
            result = program._follow(block)  # noqa: SLF001
    return result


_CONTROL: dict[str, Callable[[Program, IrOp, Sequence[Value]], list[Value]]] = {
    "scf.for": _run_for,
    "scf.if": _run_if,
    "scf.while": _run_while,
    "func.call": _run_call,
    "scf.execute_region": _run_scope,
    "scope.scope": _run_scope,
}

"""Abstract execution: a program is followed as it would run, on known numbers and on the shapes of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.perf.affine import evaluate_map
from agent.perf.arithmetic import Value, plan_compute, read_constant
from agent.perf.describe import Describer, plan_events
from agent.perf.events import Chain, Event, Scalar, Tally, Vector
from agent.perf.flags import EventIds
from agent.perf.loops import Variation, run_iterations, tell_variation
from agent.perf.memref import MemRef, vector_bits
from agent.perf.vectors import longest_chain
from agent.perf.views import make_view
from indexer.ir.records import IrBlock, IrOp

_WHILE_LIMIT = 64  # iterations of a while loop followed at most
_VECTOR_FUNCTION = "hivm.vector_function"
_CELLS = frozenset({"memref.load", "memref.store"})
_STORE_TO_CELL = 2  # operands: the number and the memory, no index
_CALL_LIMIT = 8  # nested calls; outlined functions call no further


@dataclass(frozen=True, slots=True)
class Note:
    """Something assumed on the way: `kind` is a message key of the area perf."""

    kind: str
    line: int | None
    op: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, prepared once: which values it takes and gives, what it counts, how it is computed.

    `control` follows its regions or callee; else `events` (or `describe`, when they depend on the operands) are
    counted, and `compute` gives the results.
    """

    op: IrOp
    operands: tuple[str, ...]
    results: tuple[str, ...]
    control: Control | None
    events: Sequence[Event]
    describe: Describer | None
    compute: Compute | None


@dataclass(slots=True)
class Plans:
    """What is prepared once for all programs of a launch, by the identity of blocks and loops of its module."""

    functions: Mapping[str, IrOp]
    aliases: Mapping[str, str]
    weigh: Callable[[Tally], float]  # chooses the costlier branch where the condition is not known
    flags: Mapping[int, Sequence[EventIds]] = field(default_factory=dict)  # event numbers by the identity of an op
    blocks: dict[int, list[Step]] = field(default_factory=dict)
    loops: dict[int, Variation] = field(default_factory=dict)
    chains: dict[tuple[int, int | None], Chain] = field(default_factory=dict)
    notes: set[Note] = field(default_factory=set)  # what had to be assumed
    followed: int = 0  # operations followed so far

    def steps(self, block: IrBlock) -> list[Step]:
        """Return the prepared operations of `block`."""
        known = self.blocks.get(id(block))
        if known is None:
            known = self.blocks[id(block)] = [_plan(op, self) for op in block.ops]
        return known

    def chain(self, function: IrOp, line: int | None) -> Chain:
        """Return the longest chain of register instructions in a vector function that is called at `line`."""
        key = id(function), line
        if key not in self.chains:
            self.chains[key] = longest_chain(function, line)
        return self.chains[key]

    def variation(self, loop: IrOp) -> Variation:
        """Tell how the iterations of `loop` may differ in their work."""
        known = self.loops.get(id(loop))
        if known is None:
            known = self.loops[id(loop)] = tell_variation(loop)
        return known


@dataclass(slots=True)
class Program:
    """One program instance while it is followed: block `block` of `blocks`, on vector core `sub_block` of its pair."""

    plans: Plans
    block: int
    sub_block: int
    blocks: int
    tally: Tally = field(default_factory=Tally)
    env: dict[str, Value] = field(default_factory=dict)
    depth: int = 0  # of calls
    loops: int = 0  # around the operation being followed
    vectorised: bool = False  # inside a vector function: its loops and addresses are the vector unit's own

    def run(self, function: IrOp, arguments: Sequence[Value]) -> Sequence[Value]:
        """Follow `function` on `arguments`; returns what it returns."""
        if not function.regions or not function.regions[0]:
            return []
        outer = self.env, self.vectorised
        self.env, self.vectorised = {}, _VECTOR_FUNCTION in function.attributes
        self.depth += 1
        block = function.regions[0][0]
        self.bind(block, arguments)
        returned = self.follow(block)
        self.depth -= 1
        self.env, self.vectorised = outer
        return returned

    def bind(self, block: IrBlock, values: Sequence[Value]) -> None:
        """Give the arguments of `block` their values."""
        for argument, value in zip(block.arguments, values, strict=False):
            self.env[argument.name] = value

    def follow(self, block: IrBlock) -> Sequence[Value]:
        """Follow one block; returns the operands of its terminator."""
        env = self.env
        values: Sequence[Value] = ()
        steps = self.plans.steps(block)
        self.plans.followed += len(steps)
        for step in steps:
            values = [env.get(name) for name in step.operands]
            if step.control is not None:
                results = step.control(self, step.op, values)
            else:
                self._count(step, values)
                if step.compute is None:
                    continue
                results = step.compute(self, values)
            for index, name in enumerate(step.results):
                env[name] = results[index] if index < len(results) else None
        return values

    def follow_apart(self, block: IrBlock) -> tuple[Tally, Sequence[Value]]:
        """Follow one block without adding what it does."""
        outer, self.tally = self.tally, Tally()
        values = self.follow(block)
        inner, self.tally = self.tally, outer
        return inner, values

    def assume(self, kind: str, op: IrOp) -> None:
        """Note that something about `op` was assumed."""
        self.plans.notes.add(Note(kind, op.place.line if op.place else None, op.name if kind == "unknown_op" else ""))

    def _count(self, step: Step, values: Sequence[Value]) -> None:
        events = step.describe(values) if step.describe is not None else step.events
        for event in events:
            if self.vectorised and isinstance(event, Scalar) and event.known:
                continue
            self.tally.add(event)
            if isinstance(event, Scalar | Vector) and not event.known:
                self.assume("unknown_op", step.op)

    def iterate(self, op: IrOp, start: int, step: int, trips: int, carried: Sequence[Value]) -> Sequence[Value]:
        """Follow a counted loop and add all its iterations."""
        block = op.regions[0][0]
        turn = Scalar("scf.for", op.place.line if op.place else None)

        def body(index: int, state: Sequence[Value]) -> tuple[Tally, Sequence[Value]]:
            self.bind(block, [start + index * step, *state])
            tally, left = self.follow_apart(block)
            if not self.vectorised:
                tally.add(turn)
            return tally, left

        self.loops += 1
        result = run_iterations(body, trips, carried, self.plans.variation(op), nested=self.loops > 1)
        self.loops -= 1
        self.tally.merge(result.tally)
        if result.sampled:
            self.assume("loop_sampled", op)
        return result.carried


Control = Callable[[Program, IrOp, Sequence[Value]], Sequence[Value]]
Compute = Callable[[Program, Sequence[Value]], Sequence[Value]]


def _plan(op: IrOp, plans: Plans) -> Step:
    control = _CONTROL.get(op.name)
    planned = () if control is not None else plan_events(op, plans.flags.get(id(op), ()))
    describe = planned if callable(planned) else None
    return Step(
        op, tuple(o.name for o in op.operands), tuple(r.name for r in op.results), control,
        () if callable(planned) else planned, describe,
        _plan_compute(op, plans) if (op.results or op.name == "memref.store") and control is None else None,
    )  # fmt: skip


def _plan_compute(op: IrOp, plans: Plans) -> Compute:
    if op.name in _CELLS:
        return _plan_cell(op)
    dialect, _, name = op.name.partition(".")
    first = op.results[0].type
    if vector_bits(first):
        return lambda _program, _values: ()
    if first.startswith("memref<") and name != "select":
        return lambda _program, values: (make_view(op, values),)
    if op.name == "arith.constant":
        constant = (read_constant(op.attributes["value"]),)
        return lambda _program, _values: constant
    if dialect == "arith":
        compute = plan_compute(name, op.attributes, first)
        return lambda _program, values: (compute(values),)
    if dialect == "affine":
        return _plan_affine(op, name, plans)
    if op.name == "memref.dim":
        return lambda _program, values: (_measure(values),)
    return _OWN.get(name, lambda _program, _values: ())


def _plan_affine(op: IrOp, name: str, plans: Plans) -> Compute:
    text = op.attributes.get("map", "")
    text = plans.aliases.get(text, text)
    choose = {"min": min, "max": max}.get(name, lambda results: results[0])

    def compute(_program: Program, values: Sequence[Value]) -> Sequence[Value]:
        numbers = [value if isinstance(value, int) else None for value in values]
        results = [result for result in evaluate_map(text, numbers) if result is not None]
        return (choose(results),) if results else ()

    return compute


def _plan_cell(op: IrOp) -> Compute:
    """Keep the number in a memory of one element that is named directly, such as a counter of iterations."""
    if op.name == "memref.load":
        name = f"*{op.operands[0].name}" if len(op.operands) == 1 else ""
        return lambda program, _values: (program.env.get(name),)
    name = f"*{op.operands[1].name}" if len(op.operands) == _STORE_TO_CELL else ""

    def store(program: Program, values: Sequence[Value]) -> Sequence[Value]:
        if name:
            program.env[name] = values[0]
        return ()

    return store


def _measure(values: Sequence[Value]) -> Value:
    view, axis = values
    return view.sizes[axis] if isinstance(view, MemRef) and isinstance(axis, int) else None


_OWN: dict[str, Compute] = {
    "hir.get_block_idx": lambda program, _values: (program.block,),
    "hir.get_block_num": lambda program, _values: (program.blocks,),
    "hir.get_sub_block_idx": lambda program, _values: (program.sub_block,),
}


def _run_for(program: Program, op: IrOp, values: Sequence[Value]) -> Sequence[Value]:
    lower, upper, step, *carried = values
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
        return program.iterate(op, lower, step, max(0, -(-(upper - lower) // step)), carried)
    program.assume("loop_on_data", op)
    return program.iterate(op, lower if isinstance(lower, int) else 0, 1, 1, carried)


def _run_if(program: Program, op: IrOp, values: Sequence[Value]) -> Sequence[Value]:
    branches = [region[0] if region else None for region in op.regions]
    condition = values[0]
    if isinstance(condition, int | float):
        chosen = branches[0] if condition else (branches[1] if len(branches) > 1 else None)
        if chosen is None:
            return []
        tally, result = program.follow_apart(chosen)
        program.tally.merge(tally)
        return result
    program.assume("branch_on_data", op)
    outcomes = [program.follow_apart(branch) for branch in branches if branch is not None]
    if not outcomes:
        return []
    tally, result = max(outcomes, key=lambda outcome: program.plans.weigh(outcome[0]))
    program.tally.merge(tally)
    return _agree([values for _, values in outcomes], result)


def _agree(outcomes: list[Sequence[Value]], chosen: Sequence[Value]) -> list[Value]:
    """Keep a result of the chosen branch when it is a view or the same number in all branches."""
    same = [all(index < len(o) and o[index] == value for o in outcomes) for index, value in enumerate(chosen)]
    return [v if isinstance(v, MemRef) or equal else None for v, equal in zip(chosen, same, strict=True)]


def _run_while(program: Program, op: IrOp, values: Sequence[Value]) -> list[Value]:
    """Follow a while loop as long as its condition is known; else count one iteration and say so."""
    before, after = op.regions[0][0], op.regions[1][0]
    state: Sequence[Value] = values
    for count in range(_WHILE_LIMIT + 1):
        program.bind(before, state)
        condition, *passed = program.follow(before)
        if isinstance(condition, int) and not condition:
            return passed
        if count == _WHILE_LIMIT or (condition is None and count == 1):
            break
        program.bind(after, passed)
        state = program.follow(after)
    program.assume("loop_on_data", op)
    return [None if not isinstance(value, MemRef) else value for value in passed]


def _run_call(program: Program, op: IrOp, values: Sequence[Value]) -> Sequence[Value]:
    callee = op.attributes.get("callee", "").removeprefix("@").strip('"')
    function = program.plans.functions.get(callee)
    line = op.place.line if op.place else None
    if function is None or not function.regions or not function.regions[0] or program.depth > _CALL_LIMIT:
        program.assume("unknown_op", op)
        program.tally.add(Scalar(f"func.call @{callee}", line, known=False))
        return []
    outer, program.tally = program.tally, Tally()
    returned = program.run(function, values)
    inner, program.tally = program.tally, outer
    program.tally.merge(inner.placed(line))  # what an outlined function does without a place of its own is done here
    is_vector = _VECTOR_FUNCTION in function.attributes
    program.tally.add(Vector("func.call", line, 0, 1) if is_vector else Scalar("func.call", line))
    if is_vector:
        program.tally.add(program.plans.chain(function, line))
    return returned


def _run_scope(program: Program, op: IrOp, _values: Sequence[Value]) -> Sequence[Value]:
    """Follow an operation that only holds a region, such as scope.scope or scf.execute_region."""
    result: Sequence[Value] = ()
    for region in op.regions:
        for block in region:
            result = program.follow(block)
    return result


_CONTROL: dict[str, Control] = {
    "scf.for": _run_for,
    "scf.if": _run_if,
    "scf.while": _run_while,
    "func.call": _run_call,
    "scf.execute_region": _run_scope,
    "scope.scope": _run_scope,
}

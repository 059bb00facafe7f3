"""Walk a kernel's statements in order, with what each variable is before each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from agent.records import Launch
from agent.rewrite.algebra import Poly, Symbol, number, single
from agent.rewrite.evaluate import Scope, Variable, evaluate
from agent.rewrite.source import KernelFile, Statement, dotted, names_in, walk
from agent.rewrite.values import Number, Opaque, Pointer, Value, scalar

Loop = cst.For | cst.While


@dataclass(frozen=True, slots=True)
class Point:
    """One statement with the scope before it.

    `line` is the statement line or the block that holds it. `loops` are those around it, outermost first. `inline`
    says that it stands behind a colon (`if a: b = 1`), where no line can be put before it.
    """

    statement: Statement
    line: cst.CSTNode
    scope: Scope
    loops: tuple[Loop, ...]
    inline: bool = False


@dataclass(frozen=True, slots=True)
class KernelBody:
    """A kernel's file, its launch, and all its statements in order, those inside blocks included."""

    file: KernelFile
    launch: Launch
    points: tuple[Point, ...]
    parameters: tuple[str, ...]

    def at_line(self, line: int | None) -> tuple[Point, ...]:
        """Return the simple statements that cover `line`; all of them where it is not known."""
        simple = [point for point in self.points if isinstance(point.statement, cst.BaseSmallStatement)]
        return tuple(p for p in simple if line is None or line in self.file.lines(p.statement))

    def assignments(self, name: str) -> tuple[Point, ...]:
        """Return the statements that give the variable `name` a value, loop headers included."""
        return tuple(point for point in self.points if name in targets(point.statement))

    def after(self, loop: Loop) -> Iterator[Point]:
        """Yield the statements behind `loop`, in order."""
        inside = {id(node) for node in walk(loop)}
        seen = False
        for point in self.points:
            if id(point.statement) in inside:
                seen = True
            elif seen:
                yield point


def read_body(file: KernelFile, launch: Launch) -> KernelBody:
    """Walk the kernel of `file` with the types and constexprs of `launch`."""
    walker = _Walker(file)
    variables: dict[str, Variable] = {}
    parameters = _parameters(file.kernel)
    for name in parameters:
        variables[name] = Variable(_parameter(name, launch), 0)
    walker.walk_block(file.kernel.body, variables, ())
    return KernelBody(file, launch, tuple(walker.points), parameters)


def targets(statement: cst.CSTNode) -> tuple[str, ...]:
    """Return the variables that `statement` itself assigns (not what its block does)."""
    match statement:
        case cst.Assign():
            return tuple(name for target in statement.targets for name in names_in(target.target))
        case cst.AugAssign() | cst.AnnAssign() | cst.For():
            return names_in(statement.target)
        case _:
            return ()


def assigned_in(node: cst.CSTNode) -> tuple[str, ...]:
    """Return all variables assigned anywhere inside `node`."""
    return tuple(dict.fromkeys(name for inner in walk(node) for name in targets(inner)))


def _parameters(kernel: cst.FunctionDef) -> tuple[str, ...]:
    given = kernel.params
    return tuple(p.name.value for p in (*given.posonly_params, *given.params, *given.kwonly_params))


def _parameter(name: str, launch: Launch) -> Value:
    names = ((name, 0),)
    if name in launch.constexprs:
        value = launch.constexprs[name]
        if isinstance(value, int) and not isinstance(value, bool):
            return Number(single(Symbol(name, names, 0, value)), 0)
        return Opaque(name, names, None, ())
    dtype = launch.signature.get(name, "")
    if dtype.startswith("*"):
        return Pointer(name, dtype[1:], Poly())
    if dtype in {"i32", "i64"}:
        return scalar(Symbol(name, names, int(dtype[1:])))
    return Opaque(name, names, dtype or None, ())


class _Walker:
    """Collects the points of a kernel; `_made` counts the assignments seen."""

    def __init__(self, file: KernelFile) -> None:
        self.file = file
        self.points: list[Point] = []
        self._made = 0

    def walk_block(self, block: cst.BaseSuite, variables: dict[str, Variable], loops: tuple[Loop, ...]) -> None:
        """Walk the statements of `block`, changing `variables` as they do."""
        inline = isinstance(block, cst.SimpleStatementSuite)
        for line in block.body:
            if isinstance(line, cst.SimpleStatementLine):
                self._walk_line(line, line.body, variables, loops, inline=inline)
            elif isinstance(line, cst.BaseSmallStatement):
                self._walk_line(block, [line], variables, loops, inline=True)
            elif isinstance(line, cst.BaseCompoundStatement):
                self._walk_compound(line, variables, loops)

    def _walk_line(
        self,
        line: cst.CSTNode,
        body: Sequence[cst.BaseSmallStatement],
        variables: dict[str, Variable],
        loops: tuple[Loop, ...],
        *,
        inline: bool,
    ) -> None:
        for statement in body:
            scope = Scope(self.file, dict(variables))
            self.points.append(Point(statement, line, scope, loops, inline))
            self._assign(statement, scope, variables)

    def _walk_compound(
        self, block: cst.BaseCompoundStatement, variables: dict[str, Variable], loops: tuple[Loop, ...]
    ) -> None:
        scope = Scope(self.file, dict(variables))
        self.points.append(Point(block, block, scope, loops))
        match block:
            case cst.For() | cst.While():
                self._forget(assigned_in(block), variables, _advanced(block, scope))
                self.walk_block(block.body, variables, (*loops, block))
                self._forget(assigned_in(block), variables, {})
            case cst.If():
                self._walk_branches(block, variables, loops)
            case cst.With():
                self.walk_block(block.body, variables, loops)
            case _:
                self._forget(assigned_in(block), variables, {})

    def _walk_branches(self, block: cst.If, variables: dict[str, Variable], loops: tuple[Loop, ...]) -> None:
        self.walk_block(block.body, dict(variables), loops)
        match block.orelse:
            case cst.If() as other:
                self._walk_compound(other, dict(variables), loops)
            case cst.Else() as other:
                self.walk_block(other.body, dict(variables), loops)
        self._forget(assigned_in(block), variables, {})

    def _assign(self, statement: cst.BaseSmallStatement, scope: Scope, variables: dict[str, Variable]) -> None:
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                self._bind(name, evaluate(statement.value, scope), variables)
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Tuple(elements=names))], value=cst.Tuple(elements=values)
            ) if len(names) == len(values) and all(isinstance(entry.value, cst.Name) for entry in names):
                for entry, value in zip(names, values, strict=True):
                    self._bind(cst.ensure_type(entry.value, cst.Name).value, evaluate(value.value, scope), variables)
            case cst.AnnAssign(target=cst.Name(value=name), value=cst.BaseExpression() as value):
                self._bind(name, evaluate(value, scope), variables)
            case cst.AugAssign(target=cst.Name(value=name)):
                self._bind(name, _augmented(statement, name, scope), variables)
            case _:
                self._forget(targets(statement), variables, {})

    def _bind(self, name: str, value: Value, variables: dict[str, Variable]) -> None:
        self._made += 1
        variables[name] = Variable(_named(name, self._made, value), self._made)

    def _forget(self, names: Sequence[str], variables: dict[str, Variable], kept: Mapping[str, Value]) -> None:
        for name in names:
            self._made += 1
            own = ((name, self._made),)
            value = kept.get(name, Opaque(name, own))
            variables[name] = Variable(_carried(value, own), self._made)


def _named(name: str, version: int, value: Value) -> Value:
    """Let a scalar that is not plain arithmetic be known by the variable that holds it."""
    own = ((name, version),)
    match value:
        case Number(shape=(), poly=Poly(terms=((((Symbol() as symbol),), 1),))) if symbol.text != name:
            keeps = symbol.value is not None or symbol.names == ((symbol.text, 0),)
            return value if keeps else scalar(Symbol(name, own, value.bits or symbol.bits))
        case Opaque():
            return Opaque(name, own, value.dtype, value.shape)
        case _:
            return value


def _carried(value: Value, own: tuple[tuple[str, int], ...]) -> Value:
    """Give the loop variable, or the moving part of an advanced pointer, the version that it has in the loop."""
    match value:
        case Number(shape=()):
            return Number(single(Symbol(own[0][0], own, value.bits)), value.bits)
        case _:
            return value


def _advanced(loop: Loop, scope: Scope) -> dict[str, Value]:
    """Return what is known inside `loop` of its variable and of the pointers that it only moves by scalars."""
    known: dict[str, Value] = {}
    for name in assigned_in(loop):
        before = scope.variables.get(name)
        if before is not None and isinstance(before.value, (Pointer, Number)) and _only_moved(loop, name, scope):
            step = Symbol(f"{name} so far", (("", 0),), 64)
            known[name] = replace(before.value, poly=before.value.poly + single(step))
    if isinstance(loop, cst.For) and isinstance(loop.target, cst.Name) and _is_range(loop, scope):
        known[loop.target.value] = Number(number(0), 32)
    return known


def _only_moved(loop: Loop, name: str, scope: Scope) -> bool:
    """Tell whether every assignment to `name` in `loop` is `name += scalar`."""
    inside = set(assigned_in(loop))
    for node in walk(loop):
        if name not in targets(node):
            continue
        if not isinstance(node, cst.AugAssign) or not isinstance(node.operator, (cst.AddAssign, cst.SubtractAssign)):
            return False
        step = evaluate(node.value, scope)
        if step.shape != () or inside & set(names_in(node.value)):
            return False
    return True


def _is_range(loop: cst.For, scope: Scope) -> bool:
    call = loop.iter
    return isinstance(call, cst.Call) and (
        dotted(call.func) == "range" or scope.function(call.func) in {"range", "static_range"}
    )


def _augmented(statement: cst.AugAssign, name: str, scope: Scope) -> Value:
    left, right = scope.variables.get(name), evaluate(statement.value, scope)
    sign = {cst.AddAssign: 1, cst.SubtractAssign: -1}.get(type(statement.operator))
    value = left.value if left is not None else None
    if isinstance(value, (Number, Pointer)) and isinstance(right, Number) and sign is not None:
        poly = value.poly + right.poly * number(sign)
        shape = value.shape or right.shape
        return replace(value, poly=poly, bits=max(value.bits, right.bits), shape=shape)
    return Opaque(name, (), getattr(value, "dtype", None), value.shape if value is not None else None)

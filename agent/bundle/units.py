"""The statements of a file's functions, and the file without some of them, still whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

Unit = cst.BaseSmallStatement | cst.BaseCompoundStatement


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a function: its node, its text on one line, the names it reads and writes, those around it."""

    node: Unit
    text: str
    reads: frozenset[str]
    writes: frozenset[str]
    around: tuple[Unit, ...]
    function: str


def statements_of(module: cst.Module) -> list[Statement]:
    """Return the statements of all functions in order; a compound one comes before its body."""
    return [
        found
        for function in module.body
        if isinstance(function, cst.FunctionDef)
        for found in _inside(module, function.body, (), function.name.value)
    ]


def _inside(module: cst.Module, body: cst.BaseSuite, around: tuple[Unit, ...], function: str) -> Iterator[Statement]:
    for item in body.body:
        units: Iterable[Unit] = item.body if isinstance(item, cst.SimpleStatementLine) else [item]  # type: ignore[list-item]
        for unit in units:
            yield _statement(module, unit, around, function)
            for suite in _suites(unit):
                yield from _inside(module, suite, (*around, unit), function)


def _suites(unit: Unit) -> Iterator[cst.BaseSuite]:
    if isinstance(unit, cst.For | cst.While):
        yield unit.body
    elif isinstance(unit, cst.If):
        yield unit.body
        if isinstance(unit.orelse, cst.If):
            yield from _suites(unit.orelse)
        elif unit.orelse is not None:
            yield unit.orelse.body


def _statement(module: cst.Module, unit: Unit, around: tuple[Unit, ...], function: str) -> Statement:
    text = module.code_for_node(unit).strip().split("\n")[0].rstrip()
    return Statement(unit, text, frozenset(_reads(unit)), frozenset(_writes(unit)), around, function)


def _writes(unit: Unit) -> Iterator[str]:
    targets: list[cst.CSTNode] = []
    if isinstance(unit, cst.Assign):
        targets = [t.target for t in unit.targets]
    elif isinstance(unit, cst.AugAssign | cst.AnnAssign | cst.For):
        targets = [unit.target]
    for target in targets:
        yield from _names(target)


def _reads(unit: Unit) -> Iterator[str]:
    for part in _read_parts(unit):
        yield from _names(part)


def _read_parts(unit: Unit) -> list[cst.CSTNode]:
    match unit:
        case cst.Assign(value=value):
            return [value]
        case cst.AugAssign(target=target, value=value):
            return [target, value]
        case cst.AnnAssign(value=value):
            return [value] if value is not None else []
        case cst.For(iter=iterated):
            return [iterated]
        case cst.While(test=test) | cst.If(test=test):
            return [test]
        case _:
            return [unit]


def _names(node: cst.CSTNode) -> Iterator[str]:
    """Yield the names in an expression; of `a.b` and `f(k=v)` not `b` and `k`."""
    if isinstance(node, cst.Name):
        yield node.value
    elif isinstance(node, cst.Attribute | cst.Arg):
        yield from _names(node.value)
    else:
        for child in node.children:
            yield from _names(child)


def without(module: cst.Module, dropped: Iterable[Unit]) -> cst.Module:
    """Return the module without these statements; a body that loses all gets `pass`."""
    gone = {id(node) for node in dropped}

    class Remover(cst.CSTTransformer):
        def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> object:  # type: ignore[override]
            if id(original_node) in gone:
                return cst.RemoveFromParent()
            if isinstance(updated_node, cst.SimpleStatementLine) and not updated_node.body:
                return cst.RemoveFromParent()
            if isinstance(updated_node, cst.IndentedBlock) and not updated_node.body:
                return updated_node.with_changes(body=[cst.SimpleStatementLine([cst.Pass()])])
            return updated_node

    made = module.visit(Remover())
    assert isinstance(made, cst.Module)  # noqa: S101 - a module stays one
    return made


def closure(statements: list[Statement], dropped: set[int]) -> set[int]:
    """Return the places of `dropped` and of what cannot or need not stay without them.

    That is what reads a name that nothing gives any more, what computes a name that nothing reads any more, and what
    is inside.
    """
    gone = set(dropped)
    while True:
        left = [s for i, s in enumerate(statements) if i not in gone]
        given = {(s.function, name) for s in left for name in s.writes}
        once = {(s.function, name) for s in statements for name in s.writes}
        read = {(s.function, name) for s in left for name in s.reads}
        nodes = {id(statements[i].node) for i in gone}
        more = {
            i for i, s in enumerate(statements)
            if i not in gone and (
                any((s.function, n) in once - given for n in s.reads)
                or (bool(s.writes) and _is_pure(s) and not any((s.function, n) in read for n in s.writes))
                or any(id(node) in nodes for node in s.around)
            )
        }  # fmt: skip
        if not more:
            return gone
        gone |= more


def _is_pure(statement: Statement) -> bool:
    return isinstance(statement.node, cst.Assign | cst.AnnAssign | cst.AugAssign)

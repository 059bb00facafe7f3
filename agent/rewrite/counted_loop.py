"""Write a counting `while` as a `for`: only a `for` loop is double buffered."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import evaluate
from agent.rewrite.flow import KernelBody, Point, assigned_in, read_body, targets
from agent.rewrite.source import Edit, names_in, read_kernel, walk
from agent.rewrite.values import Number
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


@dataclass(frozen=True, slots=True)
class Counter:
    """`while name < end:` whose body ends with `name += step`."""

    name: str
    end: str
    step: str
    last: cst.SimpleStatementLine


def counted_loop(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn the innermost counting `while` around the structure's line into `for name in range(name, end, step)`."""
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    found = [p for p in body.points if isinstance(p.statement, cst.While) and not p.inline]
    around = [p for p in found if structure.line is None or structure.line in file.lines(p.statement)]
    for point in reversed(around):
        loop = cst.ensure_type(point.statement, cst.While)
        counter = _read_counter(loop, body)
        edits = _edits(loop, counter, point, body) if counter is not None else None
        source = file.apply(edits) if edits is not None else None
        if source is not None:
            claim = message("rewrite.counted_loop_claim", line=file.lines(loop)[0])
            return Rewrite("counted_loop", source, claim, message("rewrite.by_construction"))
    return None


def _read_counter(loop: cst.While, body: KernelBody) -> Counter | None:
    """Read the loop as a counting one; None where it may leave otherwise, or its bound or step may change."""
    match loop.test:
        case cst.Comparison(
            left=cst.Name(value=name), comparisons=[cst.ComparisonTarget(operator=cst.LessThan(), comparator=end)]
        ):
            pass
        case _:
            return None
    step = _last_step(loop, name, body)
    inner = list(walk(loop.body))
    if step is None or loop.orelse is not None or any(isinstance(n, (cst.Break, cst.Continue)) for n in inner):
        return None
    assigned = sum(name in targets(node) for node in inner)
    moved = set(names_in(end)) & set(assigned_in(loop)) or any(isinstance(n, cst.Call) for n in walk(end))
    used_after = any(name in _read_names(point) for point in body.after(loop))
    if assigned != 1 or moved or used_after:
        return None
    return Counter(name, body.file.text(end), *step)


def _last_step(loop: cst.While, name: str, body: KernelBody) -> tuple[str, cst.SimpleStatementLine] | None:
    """Return the positive constant that the last line of the body adds to `name`, and that line."""
    match loop.body.body[-1] if isinstance(loop.body, cst.IndentedBlock) and len(loop.body.body) > 1 else None:
        case (
            cst.SimpleStatementLine(
                body=[cst.AugAssign(target=cst.Name(value=moved), operator=cst.AddAssign(), value=value) as statement]
            ) as line
        ) if moved == name:
            scope = next(p.scope for p in body.points if p.statement is statement)
            step = evaluate(value, scope)
            known = step.poly.known if isinstance(step, Number) else None
            return (body.file.text(value), line) if known is not None and known > 0 else None
        case _:
            return None


def _read_names(point: Point) -> tuple[str, ...]:
    match point.statement:
        case cst.For():
            return names_in(point.statement.iter)
        case cst.While() | cst.If():
            return names_in(point.statement.test)
        case cst.Assign() | cst.AnnAssign() if point.statement.value is not None:
            return names_in(point.statement.value)
        case _:
            return names_in(point.statement)


def _edits(loop: cst.While, counter: Counter, point: Point, body: KernelBody) -> list[Edit] | None:
    file = body.file
    if point.loops and any(counter.name in _read_names(p) for p in body.points if p.loops == point.loops):
        return None
    start = file.span(loop)[0]
    own = _own_start(counter, point, body)
    first = own.text if own is not None else counter.name
    header = f"for {counter.name} in range({first}, {counter.end}" + (
        f", {counter.step}" if counter.step != "1" else ""
    )
    edits = [Edit(start, file.span(loop.test)[1], f"{header})"), file.drop_line(counter.last)]
    return [*edits, own.edit] if own is not None else edits


@dataclass(frozen=True, slots=True)
class _Start:
    """Where the count starts, and the edit that takes the assignment before the loop away."""

    text: str
    edit: Edit


def _own_start(counter: Counter, point: Point, body: KernelBody) -> _Start | None:
    """Return the number that a line of its own right before the loop gives the counter."""
    file = body.file
    earlier = [p for p in body.points if file.span(p.statement)[0] < file.span(point.statement)[0]]
    match earlier[-1] if earlier else None:
        case Point(
            statement=cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Integer(value=text)
            ),
            line=cst.SimpleStatementLine(body=[_]) as line,
            loops=loops,
        ) if name == counter.name and loops == point.loops:
            return _Start(text, file.drop_line(line))
        case _:
            return None

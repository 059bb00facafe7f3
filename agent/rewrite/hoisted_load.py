"""Load before a loop what each round would load again."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import evaluate
from agent.rewrite.expressions import body_of
from agent.rewrite.flow import KernelBody, Point, assigned_in
from agent.rewrite.looping import calls_only_known, language_call
from agent.rewrite.source import argument, names_in, walk
from agent.rewrite.values import Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_PURE = frozenset({"arange", "cdiv", "load", "num_programs", "program_id", "where", "maximum", "minimum"})
_WRITES = frozenset({"store", "atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min", "atomic_or"})


def hoisted_load(subject: Subject, structure: Structure) -> Rewrite | None:
    """Move `w = tl.load(...)` in front of its loop, where nothing of it changes and the loop writes elsewhere."""
    body = body_of(subject)
    for point in body.at_line(structure.line) if body is not None else ():
        if body is None or not _can_move(point, body):
            continue
        file, loop = body.file, point.loops[-1]
        text = file.text(point.statement)
        source = file.apply([file.insert_before(loop, loop, [text]), file.drop_line(point.line)])
        if source is not None:
            claim = message("rewrite.hoisted_load_claim", line=file.lines(point.statement)[0])
            return Rewrite("hoisted_load", source, claim, message("rewrite.hoisted_load_precondition"))
    return None


def _can_move(point: Point, body: KernelBody) -> bool:
    match point:
        case Point(
            statement=cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value),
            line=cst.SimpleStatementLine(body=[_]),
            loops=[*_, loop],
            inline=False,
        ):
            pass
        case _:
            return False
    is_step = isinstance(loop.body, cst.IndentedBlock) and any(line is point.line for line in loop.body.body)
    changes = set(assigned_in(loop))
    calls = [node for node in walk(value) if isinstance(node, cst.Call)]
    pure = all(language_call(c, body.file) in _PURE or _is_cast(c) for c in calls)
    made_once = sum(name in assigned_in(line) for line in loop.body.body) == 1
    return (
        is_step and len(loop.body.body) > 1 and pure and made_once and not set(names_in(value)) & changes
        and not _is_written(value, point, body) and _is_not_read_before(name, point, loop)
    )  # fmt: skip


def _is_cast(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "to"


def _is_not_read_before(name: str, point: Point, loop: cst.For | cst.While) -> bool:
    for line in loop.body.body:
        if line is point.line:
            return True
        if any(isinstance(node, cst.Name) and node.value == name for node in walk(line)):
            return False
    return False


def _is_written(value: cst.BaseExpression, point: Point, body: KernelBody) -> bool:
    """Tell whether the loop may write the tensor that `value` loads from."""
    loop = point.loops[-1]
    if not calls_only_known(loop, body.file, _WRITES):
        return True
    loaded = {_base(c, point) for c in walk(value) if language_call(c, body.file) == "load"}
    inside = {id(node) for node in walk(loop)}
    written: set[str | None] = set()
    for other in body.points:
        if id(other.statement) in inside and isinstance(other.statement, cst.BaseSmallStatement):
            calls = [n for n in walk(other.statement) if language_call(n, body.file).startswith(("store", "atomic"))]
            written |= {_base(call, other) for call in calls}
    return not loaded or None in loaded | written or bool(loaded & written)


def _base(call: cst.CSTNode, point: Point) -> str | None:
    address = argument(call, "pointer", 0) if isinstance(call, cst.Call) else None
    found = evaluate(address.value, point.scope) if address is not None else None
    return found.base if isinstance(found, Pointer) else None

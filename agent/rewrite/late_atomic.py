"""Sum on chip in a loop and add to memory once behind it, instead of an atomic update a round."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import evaluate
from agent.rewrite.expressions import body_of
from agent.rewrite.flow import KernelBody, Point, assigned_in
from agent.rewrite.looping import calls_only_known, language_call
from agent.rewrite.render import NotWritable, write_sum
from agent.rewrite.source import Edit, argument, names_in, walk
from agent.rewrite.values import Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_TYPES = {"fp32": "float32", "i32": "int32"}
_MEMORY = frozenset({"load", "store", "atomic_add", "atomic_cas", "atomic_max", "atomic_min", "atomic_xchg"})


def late_atomic(subject: Subject, structure: Structure) -> Rewrite | None:
    """Accumulate what `tl.atomic_add` adds at one place in each round; equal up to the order of rounding."""
    body = body_of(subject)
    for point in body.at_line(structure.line) if body is not None else ():
        edits = _edits(point, body) if body is not None else None
        source = point.scope.file.apply(edits) if edits is not None else None
        if source is not None:
            claim = message("rewrite.late_atomic_claim", line=point.scope.file.lines(point.statement)[0])
            return Rewrite("late_atomic", source, claim, message("rewrite.late_atomic_precondition"))
    return None


def _edits(point: Point, body: KernelBody) -> list[Edit] | None:
    match point:
        case Point(statement=cst.Expr(value=cst.Call() as call), loops=[*_, loop], inline=False):
            pass
        case _:
            return None
    if language_call(call, body.file) != "atomic_add":
        return None
    address, value, mask = (argument(call, name, i) for i, name in enumerate(("pointer", "val", "mask")))
    if address is None or value is None or not _is_alone(call, point, loop, body):
        return None
    pointer, added = evaluate(address.value, point.scope), evaluate(value.value, point.scope)
    fixed = {name for given in (address, mask) if given is not None for name in names_in(given.value)}
    kind = _TYPES.get(pointer.dtype) if isinstance(pointer, Pointer) else None
    if kind is None or added.shape is None or added.shape != pointer.shape or fixed & set(assigned_in(loop)):
        return None
    file, tl = body.file, body.file.language
    total = file.fresh("total")
    try:
        sizes = ", ".join(write_sum(size, point.scope) for size in added.shape)
    except NotWritable:
        return None
    empty = f"{tl}.zeros(({sizes},), {tl}.{kind})" if sizes else {"float32": "0.0", "int32": "0"}[kind]
    rest = "".join(f", {file.text(given)}" for given in call.args if given not in {address, value})
    late = f"{tl}.atomic_add({file.text(address.value)}, {total}{rest})"
    return [
        file.insert_before(loop, loop, [f"{total} = {empty}"]),
        file.replace(point.statement, f"{total} += {file.text(value.value)}"),
        file.insert_after(loop, [late]),
    ]


def _is_alone(call: cst.Call, point: Point, loop: cst.For | cst.While, body: KernelBody) -> bool:
    """Tell whether every round makes the update, at the end of which nothing else touches its tensor or leaves."""
    is_step = isinstance(loop.body, cst.IndentedBlock) and any(line is point.line for line in loop.body.body)
    leaves = any(isinstance(node, (cst.Break, cst.Continue, cst.Return)) for node in walk(loop))
    if not is_step or leaves or not calls_only_known(loop, body.file, _MEMORY):
        return False
    own, inside = _base(call, point), {id(node) for node in walk(loop)}
    for other in body.points:
        if id(other.statement) in inside and isinstance(other.statement, cst.BaseSmallStatement):
            for node in walk(other.statement):
                touches = language_call(node, body.file) in _MEMORY
                if touches and node is not call and _base(node, other) in {own, None}:
                    return False
    return own is not None


def _base(call: cst.CSTNode, point: Point) -> str | None:
    address = argument(call, "pointer", 0) if isinstance(call, cst.Call) else None
    found = evaluate(address.value, point.scope) if address is not None else None
    return found.base if isinstance(found, Pointer) else None

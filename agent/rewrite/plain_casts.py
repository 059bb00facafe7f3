"""Widen halves once after the load and narrow them once at the store, not between the steps in between."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import evaluate
from agent.rewrite.expressions import body_of
from agent.rewrite.flow import KernelBody, Point
from agent.rewrite.looping import language_call
from agent.rewrite.source import Edit, argument, walk
from agent.rewrite.values import Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_HALVES = {"fp16": "float16", "bf16": "bfloat16"}


def plain_casts(subject: Subject, _structure: Structure) -> Rewrite | None:
    """Compute in float32 throughout what is loaded as halves; more exact, since nothing is rounded in between.

    Not in a kernel with a product, whose operands must stay halves.
    """
    body = body_of(subject)
    if body is None or any(language_call(n, body.file) == "dot" for n in walk(body.file.kernel)):
        return None
    dropped = list(_narrowings(body))
    widened = list(_widenings(body)) if dropped else []
    source = body.file.apply([*dropped, *widened]) if dropped else None
    if source is None:
        return None
    claim = message("rewrite.plain_casts_claim", count=len(dropped))
    return Rewrite("plain_casts", source, claim, message("rewrite.plain_casts_precondition"))


def _narrowings(body: KernelBody) -> Iterator[Edit]:
    """Yield the edits that take `.to(tl.float16)` away where it is not what is stored."""
    stored = {id(value) for _, call in _calls(body, "store") if (value := _stored(call, body)) is not None}
    for point in body.points:
        for node in walk(point.statement) if isinstance(point.statement, cst.BaseSmallStatement) else ():
            match node:
                case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to")), args=[kind]):
                    half = point.scope.function(kind.value) in _HALVES.values()
                    if half and id(node) not in stored and evaluate(inner, point.scope).shape != ():
                        start, end = body.file.span(inner)
                        begin, last = body.file.span(node)
                        yield from (
                            (Edit(start, start, "("), Edit(end, last, ")"))
                            if begin == start
                            else (Edit(end + 1, last, ""),)
                        )


def _stored(call: cst.Call, body: KernelBody) -> cst.BaseExpression | None:
    value = argument(call, "value", 1)
    return value.value if value is not None and body else None


def _widenings(body: KernelBody) -> Iterator[Edit]:
    """Yield the edits that widen what is loaded as halves, unless that stands there."""
    casts = {
        id(node.func.value)
        for node in walk(body.file.kernel)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "to"
    }
    for point, call in _calls(body, "load"):
        address = argument(call, "pointer", 0)
        pointer = evaluate(address.value, point.scope) if address is not None else None
        if isinstance(pointer, Pointer) and pointer.dtype in _HALVES and id(call) not in casts:
            end = body.file.span(call)[1]
            yield Edit(end, end, f".to({body.file.language}.float32)")


def _calls(body: KernelBody, name: str) -> Iterator[tuple[Point, cst.Call]]:
    for point in body.points:
        for node in walk(point.statement) if isinstance(point.statement, cst.BaseSmallStatement) else ():
            if isinstance(node, cst.Call) and language_call(node, body.file) == name:
                yield point, node

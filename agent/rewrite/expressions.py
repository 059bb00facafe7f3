"""Rewrites of single expressions: what they share."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope
from agent.rewrite.flow import Point, read_body, targets
from agent.rewrite.source import Edit, read_kernel, walk
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import Message, message

# The new text of an expression, None where it stays.
Rephrase = Callable[[cst.BaseExpression, Scope], str | None]


def rephrase(
    name: str, subject: Subject, structure: Structure, change: Rephrase, precondition: Message
) -> Rewrite | None:
    """Replace the outermost expressions at the structure's line that `change` has a new text for.

    The claim is the message `rewrite.<name>_claim`, with the line and the count.
    """
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    edits: list[Edit] = []
    for point in body.at_line(structure.line):
        edits += _changed(point.statement, point, change)
    source = file.apply(edits) if edits else None
    if source is None:
        return None
    claim = message(f"rewrite.{name}_claim", line=structure.line or 0, count=len(edits))
    return Rewrite(name, source, claim, precondition)


def _changed(node: cst.CSTNode, point: Point, change: Rephrase) -> list[Edit]:
    if isinstance(node, cst.BaseExpression):
        text = change(node, point.scope)
        if text is not None:
            return [point.scope.file.replace(node, text)]
    return [edit for child in node.children for edit in _changed(child, point, change)]


def resolved(node: cst.CSTNode, scope: Scope) -> cst.CSTNode:
    """Return the expression that a variable stands for, where the kernel assigns it once, in straight line."""
    if not isinstance(node, cst.Name) or node.value not in scope.variables:
        return node
    made = [inner for inner in walk(scope.file.kernel) if node.value in targets(inner)]
    match made:
        case [cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value)]:
            return value
        case _:
            return node

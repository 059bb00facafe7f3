"""Rewrites of single expressions: what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope
from agent.rewrite.flow import KernelBody, Point, read_body, targets
from agent.rewrite.source import Edit, KernelFile, argument, names_in, read_kernel, walk
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import Message, message

# Where not every part of an expression is evaluated, or not in the order of the text, no line can go before it.
_CONDITIONAL = (cst.Lambda, cst.IfExp, cst.BooleanOperation, cst.BaseComp)


@dataclass(frozen=True, slots=True)
class Spelled:
    """The new text of an expression, and the lines that go before its statement."""

    text: str
    lines: tuple[str, ...] = ()


# The new text of an expression, None where it stays.
Rephrase = Callable[[cst.BaseExpression, Scope], "str | Spelled | None"]


def rephrase(
    name: str, subject: Subject, structure: Structure, change: Rephrase, precondition: Message
) -> Rewrite | None:
    """Replace the outermost expressions at the structure's line that `change` has a new text for.

    Where none is there, those of the whole kernel: the line may be where a value is made and not where it is used. The
    claim is the message `rewrite.<name>_claim`, with the line and the count.
    """
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(replace(file, handed=set()), subject.launch)
    edits, count = rephrased(body.at_line(structure.line), change)
    if not count:
        edits, count = rephrased(body.at_line(None), change)
    source = file.apply(edits) if count else None
    if source is None:
        return None
    claim = message(f"rewrite.{name}_claim", line=structure.line or 0, count=count)
    return Rewrite(name, source, claim, precondition)


def rephrased(points: Iterable[Point], change: Rephrase) -> tuple[list[Edit], int]:
    """Return the edits that `change` makes to the statements at `points`, and how many expressions it changed."""
    edits: list[Edit] = []
    count = 0
    for point in points:
        found = _changed(point.statement, point, change, can_precede=not point.inline)
        lines = [line for _, spelled in found for line in spelled.lines]
        file = point.scope.file
        edits += [file.replace(node, spelled.text) for node, spelled in found]
        edits += [file.insert_before(point.line, point.statement, lines)] if lines else []
        count += len(found)
    return edits, count


def _changed(
    node: cst.CSTNode, point: Point, change: Rephrase, *, can_precede: bool
) -> list[tuple[cst.BaseExpression, Spelled]]:
    if isinstance(node, cst.BaseExpression):
        found = change(node, point.scope)
        spelled = Spelled(found) if isinstance(found, str) else found
        if spelled is not None and (can_precede or not spelled.lines):
            return [(node, spelled)]
    inside = can_precede and not isinstance(node, _CONDITIONAL)
    return [item for child in node.children for item in _changed(child, point, change, can_precede=inside)]


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


def is_set_once(node: cst.BaseExpression, scope: Scope) -> bool:
    """Tell whether `node` may be written again at another place: its variables are set once, and it loads nothing."""
    calls = [inner for inner in walk(node) if isinstance(inner, cst.Call)]
    if any(scope.function(call.func) in {"load", "atomic_add"} for call in calls):
        return False
    body = scope.file.kernel.body
    return all(sum(name in targets(inner) for inner in walk(body)) <= 1 for name in names_in(node))


def call_of(node: cst.CSTNode, scope: Scope, *names: str) -> cst.Call | None:
    """Return `node` as a call of one of the functions `names` of the language (a method counts), else None."""
    call = scope.file.plain(node)
    return call if isinstance(call, cst.Call) and scope.function(call.func) in names else None


def given(call: cst.Call, name: str, position: int) -> cst.BaseExpression | None:
    """Return what a call passes for a parameter."""
    found = argument(call, name, position)
    return found.value if found is not None else None


def grouped(node: cst.BaseExpression, file: KernelFile) -> str:
    """Write an expression so that it can be an operand."""
    text = file.text(node)
    if isinstance(node, (cst.Name, cst.Call, cst.Subscript, cst.Attribute, cst.Integer, cst.Float)):
        return text
    return f"({text})"


def named(node: cst.BaseExpression, wanted: str, file: KernelFile, lines: list[str]) -> str:
    """Return the variable that `node` is, or a new one that a line added to `lines` sets."""
    if isinstance(node, cst.Name):
        return node.value
    name = file.fresh(wanted)
    lines.append(f"{name} = {file.text(node)}")
    return name


def body_of(subject: Subject) -> KernelBody | None:
    """Read the kernel of a subject."""
    file = read_kernel(subject.source, subject.launch.kernel)
    return read_body(file, subject.launch) if file is not None else None

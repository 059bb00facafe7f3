"""Write two bounds of which one must hold as one bound, so that the mask is a rectangle."""

from __future__ import annotations

import libcst as cst

from agent.records import Structure
from agent.rewrite.accesses import Bound, bound_on
from agent.rewrite.evaluate import Scope, evaluate
from agent.rewrite.flow import read_body
from agent.rewrite.render import NotWritable, write_lane, write_sum
from agent.rewrite.source import Edit, read_kernel, walk
from agent.rewrite.values import Comparison, Mask
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_CHOICE = {"<": "maximum", "<=": "maximum", ">": "minimum", ">=": "minimum"}


def merged_bound(subject: Subject, _structure: Structure) -> Rewrite | None:
    """Turn `(i < a) | (i < b)` into `i < tl.maximum(a, b)`, wherever a mask of the kernel says so."""
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    edits: list[Edit] = []
    for point in body.points:
        for node in walk(point.statement) if isinstance(point.statement, cst.BaseSmallStatement) else ():
            if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
                text = _merged(node, point.scope)
                edits += [file.replace(node, text)] if text is not None else []
    source = file.apply(edits) if edits else None
    if source is None:
        return None
    claim = message("rewrite.merged_bound_claim", count=len(edits))
    return Rewrite("merged_bound", source, claim, message("rewrite.by_construction"))


def _merged(node: cst.BinaryOperation, scope: Scope) -> str | None:
    left, right = (_single(side, scope) for side in (node.left, node.right))
    if left is None or right is None or left.shape != right.shape:
        return None
    lanes = (left.left.poly - left.right.poly).lanes
    if len(lanes) != 1 or lanes != (right.left.poly - right.right.poly).lanes:
        return None
    first, second = bound_on(left, lanes[0]), bound_on(right, lanes[0])
    if first is None or second is None or first.operator != second.operator or first.operator not in _CHOICE:
        return None
    try:
        index = write_lane(lanes[0], len(left.shape), scope)
        a, b = (write_sum(bound.limit, scope, wide=bound.bits == 64) for bound in (first, second))
    except NotWritable:
        return None
    return f"({index} {first.operator} {_choose(first, second, (a, b), scope)})"


def _choose(first: Bound, second: Bound, texts: tuple[str, str], scope: Scope) -> str:
    tl = scope.file.language
    if first.limit == second.limit:
        return texts[0]
    return f"{tl}.{_CHOICE[first.operator]}({texts[0]}, {texts[1]})"


def _single(node: cst.CSTNode, scope: Scope) -> Comparison | None:
    found = evaluate(node, scope)
    if isinstance(found, Mask) and len(found.parts) == 1 and isinstance(found.parts[0], Comparison):
        return found.parts[0]
    return None

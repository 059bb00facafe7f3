"""Do not fill the lanes behind a load's mask where nothing ever looks at them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.records import Structure
from agent.rewrite.accesses import Load, find_loads
from agent.rewrite.evaluate import UNREPEATABLE, evaluate, is_elementwise
from agent.rewrite.flow import KernelBody, Point, read_body, targets
from agent.rewrite.looping import language_call
from agent.rewrite.source import Edit, argument, read_kernel, walk
from agent.rewrite.values import Comparison, Mask, Opaque
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


def skip_padding(subject: Subject, structure: Structure) -> Rewrite | None:
    """Pass `care_padding=False` to the masked loads whose values only reach stores under the same mask."""
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    loads = [load for load in find_loads(body.points) if _only_stored_under_mask(load, body)]
    if structure.line is not None and not any(structure.line in file.lines(load.call) for load in loads):
        return None
    edits = [edit for load in loads for edit in _edits(load, body)]
    source = file.apply(edits) if edits else None
    if source is None:
        return None
    claim = message("rewrite.skip_padding_claim", count=len(edits))
    return Rewrite("skip_padding", source, claim, message("rewrite.by_construction"))


def _edits(load: Load, body: KernelBody) -> Iterator[Edit]:
    """Yield the edit of one load; a given `other` keeps the fill, so it gives way."""
    if argument(load.call, "care_padding") is not None:
        return
    other = argument(load.call, "other", 2)
    if other is not None:
        yield body.file.replace(other, "care_padding=False")
    else:
        end = body.file.span(load.call.args[-1])[1]
        yield Edit(end, end, ", care_padding=False")


def _only_stored_under_mask(load: Load, body: KernelBody) -> bool:
    if load.mask is None or any(_is_unnamed(part) for part in load.mask.parts):
        return False
    parents = {id(child): node for node in walk(body.file.kernel) for child in node.children}
    waiting: list[tuple[cst.CSTNode, Point]] = [(load.call, load.point)]
    seen: set[str] = set()
    while waiting:
        node, point = waiting.pop()
        name = _reaches(node, point, load.mask, parents)
        if name is None:
            return False
        if name and name not in seen:
            seen.add(name)
            uses = _uses(name, body)
            if len(body.assignments(name)) != 1 or any(use.loops != load.point.loops for _, use in uses):
                return False
            waiting += uses
    return True


def _is_unnamed(part: Comparison | Opaque) -> bool:
    return isinstance(part, Opaque) and part.names == UNREPEATABLE


def _reaches(node: cst.CSTNode, point: Point, mask: Mask, parents: dict[int, cst.CSTNode]) -> str | None:
    """Follow a value outwards to the end of its statement.

    Return the variable that then holds it, "" where it is stored under `mask`; None where lanes may mix or be seen.
    """
    while node is not point.statement:
        child, node = node, parents[id(node)]
        if isinstance(node, cst.Call) and language_call(node, point.scope.file) == "store":
            return "" if _stores_under(node, child, point, mask) else None
        if not isinstance(node, (cst.Arg, cst.Assign, cst.Expr)) and not is_elementwise(node, point.scope):
            return None
    names = targets(node) if isinstance(node, cst.Assign) else ()
    return names[0] if len(names) == 1 else None


def _stores_under(store: cst.Call, child: cst.CSTNode, point: Point, mask: Mask) -> bool:
    value, given = argument(store, "value", 1), argument(store, "mask", 2)
    if value is not child or given is None:
        return False
    found = evaluate(given.value, point.scope)
    return isinstance(found, Mask) and set(mask.parts) <= set(found.parts)


def _uses(name: str, body: KernelBody) -> list[tuple[cst.CSTNode, Point]]:
    found: list[tuple[cst.CSTNode, Point]] = []
    for point in body.points:
        if isinstance(point.statement, cst.BaseSmallStatement):
            reads = [n for n in walk(point.statement) if isinstance(n, cst.Name) and n.value == name]
            found += [(n, point) for n in reads if name not in targets(point.statement)]
        elif any(isinstance(n, cst.Name) and n.value == name for n in _header(point.statement)):
            found.append((point.statement, point))
    return found


def _header(block: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match block:
        case cst.For():
            yield from walk(block.iter)
        case cst.While() | cst.If():
            yield from walk(block.test)

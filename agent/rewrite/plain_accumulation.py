"""Leave only plain sums of products in the K loop: the start value and the scale come after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import evaluate
from agent.rewrite.flow import KernelBody, Loop, Point, assigned_in, read_body, targets
from agent.rewrite.looping import calls_only_known
from agent.rewrite.render import NotWritable, write_sum
from agent.rewrite.source import Edit, argument, names_in, read_kernel, walk
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

_WRITES = frozenset({"store", "atomic_add", "atomic_max", "atomic_min", "atomic_xchg", "atomic_cas"})


@dataclass(frozen=True, slots=True)
class Accumulation:
    """`name += tl.dot(...) * scale` at `point`, the only assignment to `name` in `loop` (scale None: without)."""

    name: str
    point: Point
    loop: Loop
    dot: cst.BaseExpression
    value: cst.BaseExpression
    scale: cst.BaseExpression | None


def plain_accumulation(subject: Subject, structure: Structure) -> Rewrite | None:
    """Start the accumulator of the loop's `tl.dot` from zero, and add the start value and scale behind the loop.

    Equal up to the order in which float32 numbers are rounded.
    """
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None:
        return None
    body = read_body(file, subject.launch)
    for found in _accumulations(body):
        near = structure.line is None or structure.line in file.lines(found.loop)
        edits = _late_edits(found, body) if near else None
        source = file.apply(edits) if edits else None
        if source is not None:
            claim = message("rewrite.plain_accumulation_claim", name=found.name, line=file.lines(found.loop)[0])
            return Rewrite("plain_accumulation", source, claim, message("rewrite.plain_accumulation_precondition"))
    return None


def _accumulations(body: KernelBody) -> Iterator[Accumulation]:
    for point in body.points:
        if point.loops and not point.inline and isinstance(point.statement, (cst.AugAssign, cst.Assign)):
            found = _read_accumulation(point)
            if found is not None and _is_only_use(found):
                yield found


def _read_accumulation(point: Point) -> Accumulation | None:
    """Read `acc += e`, `acc = acc + e` or `acc = tl.dot(a, b, acc)`, where e is a product, scaled or not."""
    loop = point.loops[-1]
    match point.statement:
        case cst.AugAssign(target=cst.Name(value=name), operator=cst.AddAssign(), value=value):
            return _read_product(name, point, loop, value)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call() as call):
            start = argument(call, "acc", 2)
            own = start is not None and isinstance(start.value, cst.Name) and start.value.value == name
            is_dot = point.scope.function(call.func) == "dot"
            return Accumulation(name, point, loop, call, call, None) if own and is_dot else None
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=name))],
            value=cst.BinaryOperation(left=left, operator=cst.Add(), right=right),
        ):
            sides = [side for side in (left, right) if not (isinstance(side, cst.Name) and side.value == name)]
            return _read_product(name, point, loop, sides[0]) if len(sides) == 1 else None
        case _:
            return None


def _read_product(name: str, point: Point, loop: Loop, value: cst.BaseExpression) -> Accumulation | None:
    if _is_dot(value, point):
        return Accumulation(name, point, loop, value, value, None)
    match value:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            for dot, scale in ((left, right), (right, left)):
                if _is_dot(dot, point) and not set(names_in(scale)) & set(assigned_in(loop)) and _is_pure(scale):
                    return Accumulation(name, point, loop, dot, value, scale)
    return None


def _is_dot(node: cst.CSTNode, point: Point) -> bool:
    """Tell whether `node` is a plain product, or a variable of the loop that holds one for this statement only."""
    if isinstance(node, cst.Name) and point.loops:
        uses = [n for n in walk(point.scope.file.kernel) if isinstance(n, cst.Name) and n.value == node.value]
        made = [n for n in walk(point.loops[-1].body) if node.value in targets(n)]
        match made:
            case [cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value)] if len(uses) == 2:
                return _is_dot(value, point)
            case _:
                return False
    if not isinstance(node, cst.Call) or point.scope.function(node.func) != "dot" or argument(node, "acc", 2):
        return False
    # An integer product must be scaled as a float before it is summed with floats.
    operands = [argument(node, name, position) for position, name in enumerate(("input", "other"))]
    kinds = [getattr(evaluate(o.value, point.scope), "dtype", None) for o in operands if o is not None]
    return not any(kind is not None and kind.startswith(("i", "u")) for kind in kinds)


def _is_pure(node: cst.CSTNode) -> bool:
    return not any(isinstance(inner, cst.Call) for inner in walk(node))


def _is_only_use(found: Accumulation) -> bool:
    """Tell whether the loop neither reads nor assigns the accumulator elsewhere, and writes no memory."""
    inside = [node for node in walk(found.loop.body) if isinstance(node, cst.Name) and node.value == found.name]
    own = [n for n in walk(found.point.statement) if isinstance(n, cst.Name) and n.value == found.name]
    writes = any(
        isinstance(node, cst.Call) and (found.point.scope.function(node.func) or "").startswith(("store", "atomic"))
        for node in walk(found.loop)
    )
    known = calls_only_known(found.loop, found.point.scope.file, _WRITES)
    return len(inside) == len(own) and not writes and known


def _late_edits(found: Accumulation, body: KernelBody) -> list[Edit] | None:
    file = body.file
    start = _start_point(found, body)
    after = next(body.after(found.loop), None)
    if start is None or after is None or not isinstance(start.statement, cst.Assign):
        return None
    late: list[str] = []
    edits: list[Edit] = []
    if found.scale is not None:
        text = file.text(found.scale)
        plain = isinstance(found.scale, (cst.Name, cst.Call, cst.Subscript, cst.Attribute, cst.Integer, cst.Float))
        late.append(f"{found.name} = {found.name} * {text if plain else f'({text})'}")
        edits.append(file.replace(found.value, file.text(found.dot)))
    if not _is_zero(start):
        moved = _move_start(start, after, body)
        if moved is None:
            return None
        edits += moved.edits
        late.append(f"{found.name} += {moved.text}")
    return [*edits, file.insert_after(found.loop, late)] if late else None


def _start_point(found: Accumulation, body: KernelBody) -> Point | None:
    """Return the assignment that the loop starts from, where nothing reads the accumulator in between."""
    before: list[Point] = []
    for point in body.points:
        if point.statement is found.loop:
            break
        before.append(point)
    else:
        return None
    loops = found.point.loops[:-1]
    for point in reversed(before):
        if found.name in targets(point.statement):
            return point if point.loops == loops and not point.inline and _same_block(point, found, body) else None
        if found.name in names_in(point.statement):
            return None
    return None


def _same_block(point: Point, found: Accumulation, body: KernelBody) -> bool:
    """Tell whether the assignment and the loop are steps of one block."""
    blocks = [node for node in walk(body.file.kernel) if isinstance(node, cst.IndentedBlock)]
    return any(
        any(line is point.line for line in block.body) and any(line is found.loop for line in block.body)
        for block in blocks
    )


def _is_zero(start: Point) -> bool:
    value = cst.ensure_type(start.statement, cst.Assign).value
    if not isinstance(value, cst.Call):
        return False
    fill = argument(value, "value", 1)
    filled = fill is not None and isinstance(fill.value, (cst.Float, cst.Integer)) and float(fill.value.value) == 0.0
    name = start.scope.function(value.func)
    return name in {"zeros", "zeros_like"} or (name == "full" and filled)


@dataclass(frozen=True, slots=True)
class _Moved:
    """The start value, written behind the loop, and the edits that take it from before it."""

    text: str
    edits: list[Edit]


def _move_start(start: Point, after: Point, body: KernelBody) -> _Moved | None:
    file = body.file
    value = cst.ensure_type(start.statement, cst.Assign).value
    known = evaluate(value, start.scope)
    if getattr(known, "dtype", None) not in {"fp32", "float32"} or known.shape is None or len(known.shape) != 2:
        return None
    try:
        shape = ", ".join(write_sum(size, start.scope) for size in known.shape)
    except NotWritable:
        return None
    zeros = f"{file.language}.zeros(({shape}), dtype={file.language}.float32)"
    replaced = file.replace(value, zeros)
    if after.scope.holds(start.scope.names(value)):
        comment = file.trailing_comment(start.line)
        taken = [Edit(*comment, "")] if comment is not None else []
        told = file.data[slice(*comment)].decode() if comment is not None else ""
        return _Moved(f"{file.text(value)}{told}", [replaced, *taken])
    kept = file.fresh("start")
    line = f"{kept} = {file.text(value)}"
    return _Moved(kept, [replaced, file.insert_before(start.line, start.statement, [line])])

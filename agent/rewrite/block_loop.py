"""Sum a block a round instead of an element: a scalar load in a loop is a read of global memory by the scalar unit."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import evaluate, is_elementwise
from agent.rewrite.expressions import body_of
from agent.rewrite.flow import KernelBody, Point, assigned_in, targets
from agent.rewrite.looping import language_call
from agent.rewrite.source import Edit, argument, names_in, walk
from agent.rewrite.values import Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

# 4 KiB of float32: a DMA of this size is past the part where its start counts most, and many fit into UB.
BLOCK = 1024
_FLOATS = ("fp", "float")


@dataclass(frozen=True, slots=True)
class Counting:
    """`for index in range(start, end)` whose body sums into `sums`, a statement each."""

    loop: cst.For
    index: str
    start: str
    end: str
    sums: dict[str, tuple[Point, cst.BaseExpression]]


def block_loop(subject: Subject, structure: Structure) -> Rewrite | None:
    """Let each round of a summing loop take 1024 elements; equal up to the order in which sums are rounded."""
    body = body_of(subject)
    loops = [p for p in body.points if isinstance(p.statement, cst.For)] if body is not None else []
    for point in reversed(loops):
        if body is None or (structure.line is not None and structure.line not in body.file.lines(point.statement)):
            continue
        counting = _read(cst.ensure_type(point.statement, cst.For), body)
        edits = _edits(counting, body) if counting is not None else None
        source = body.file.apply(edits) if edits is not None else None
        if source is not None:
            claim = message("rewrite.block_loop_claim", line=body.file.lines(point.statement)[0], block=BLOCK)
            return Rewrite("block_loop", source, claim, message("rewrite.late_atomic_precondition"))
    return None


def _read(loop: cst.For, body: KernelBody) -> Counting | None:
    match loop:
        case cst.For(target=cst.Name(value=index), iter=cst.Call(func=cst.Name(value="range"), args=[*given])):
            texts = [body.file.text(entry.value) for entry in given]
        case _:
            return None
    if len(texts) > 2 or loop.orelse is not None or not isinstance(loop.body, cst.IndentedBlock):
        return None
    inside = {id(node) for node in walk(loop.body)}
    points = [point for point in body.points if id(point.statement) in inside]
    sums: dict[str, tuple[Point, cst.BaseExpression]] = {}
    for point in points:
        added = _added(point)
        if added is not None:
            sums[added[0]] = (point, added[1])
        elif not _is_local(point):
            return None
        if not _is_scalar_step(point, index, body):
            return None
    used_after = any(index in names_in(p.statement) for p in body.after(loop))
    once = all(sum(name in targets(p.statement) for p in points) == 1 for name in assigned_in(loop.body))
    read = {name for p in points for name in names_in(_read_part(p)) if name in sums}
    fixed = {name for entry in given for name in names_in(entry.value)} & set(assigned_in(loop))
    if not sums or used_after or not once or read or fixed or not _is_local_only(points, sums, loop, body):
        return None
    return Counting(loop, index, texts[0] if len(texts) == 2 else "0", texts[-1], sums)


def _added(point: Point) -> tuple[str, cst.BaseExpression] | None:
    match point.statement:
        case cst.AugAssign(target=cst.Name(value=name), operator=cst.AddAssign(), value=value):
            return name, value
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=name))],
            value=cst.BinaryOperation(left=cst.Name(value=same), operator=cst.Add(), right=value),
        ) if same == name:
            return name, value
        case _:
            return None


def _read_part(point: Point) -> cst.CSTNode:
    added = _added(point)
    if added is not None:
        return added[1]
    return cst.ensure_type(point.statement, cst.Assign).value


def _is_local(point: Point) -> bool:
    match point:
        case Point(statement=cst.Assign(targets=[cst.AssignTarget(target=cst.Name())]), inline=False):
            return True
        case _:
            return False


def _is_scalar_step(point: Point, index: str, body: KernelBody) -> bool:
    """Tell whether all that a statement computes is scalar, element-wise, and loaded at `index` plus what stays."""
    if point.inline:
        return False
    for node in walk(_read_part(point)):
        if isinstance(node, cst.Call) and language_call(node, body.file) == "load":
            address = argument(node, "pointer", 0)
            found = evaluate(address.value, point.scope) if address is not None else None
            is_plain = len(node.args) == 1 and isinstance(found, Pointer) and found.shape == ()
            if not is_plain or not isinstance(found, Pointer) or not found.dtype.startswith(_FLOATS):
                return False
            if address is None or index not in names_in(address.value):
                return False
        elif isinstance(node, (cst.Call, cst.Subscript, cst.IfExp)) and not is_elementwise(node, point.scope):
            return False
    return True


def _is_local_only(
    points: list[Point], sums: dict[str, tuple[Point, cst.BaseExpression]], loop: cst.For, body: KernelBody
) -> bool:
    """Tell whether what the loop assigns besides the sums is set before it is read, and not read behind the loop."""
    locals_ = {name for p in points for name in targets(p.statement) if name not in sums}
    known: set[str] = set()
    for point in points:
        if set(names_in(_read_part(point))) & locals_ - known:
            return False
        known |= set(targets(point.statement))
    return not any(locals_ & set(names_in(p.statement)) for p in body.after(loop))


def _edits(counting: Counting, body: KernelBody) -> list[Edit]:
    file, tl, loop = body.file, body.file.language, counting.loop
    first, live = file.fresh(f"{counting.index}_first"), file.fresh("live")
    header_end = file.span(loop.iter)[1]
    edits = [Edit(file.span(loop)[0], header_end, f"for {first} in range({counting.start}, {counting.end}, {BLOCK})")]
    line = cst.ensure_type(loop.body, cst.IndentedBlock).body[0]
    start = file.span(line)[0]
    lanes = f"{counting.index} = {first} + {tl}.arange(0, {BLOCK})"
    opening = "".join(f"{text}\n{file.indent(line)}" for text in (lanes, f"{live} = {counting.index} < {counting.end}"))
    edits.append(Edit(start, start, opening))
    before, after = [], []
    for name, (point, value) in counting.sums.items():
        total = file.fresh(f"{name}_lanes")
        before.append(f"{total} = {tl}.zeros(({BLOCK},), {tl}.float32)")
        after.append(f"{name} += {tl}.sum({total}, 0)")
        start, end = file.span(value)
        edits.append(Edit(file.span(point.statement)[0], start, f"{total} += {tl}.where({live}, "))
        edits.append(Edit(end, file.span(point.statement)[1], ", 0.0)"))
    for node in walk(loop.body):
        if isinstance(node, cst.Call) and language_call(node, file) == "load":
            at = file.span(node.args[-1])[1]
            edits.append(Edit(at, at, f", mask={live}, other=0.0"))
    return [*edits, file.insert_before(loop, loop, before), file.insert_after(loop, after)]

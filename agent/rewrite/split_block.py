"""Let a program work through its block in parts, so that the parts fit in UB and loads overlap with computation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import libcst as cst

from agent.records import Structure
from agent.rewrite.algebra import Poly
from agent.rewrite.elementwise import independent_sizes
from agent.rewrite.evaluate import evaluate
from agent.rewrite.flow import KernelBody, read_body
from agent.rewrite.looping import Substitute, Wrapping, language_call, wrap_body
from agent.rewrite.source import KernelFile, argument, read_kernel, walk
from agent.rewrite.values import Pointer
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

# Below this a part is less than two 256-byte vector repeats of the smallest type.
LEAST_PART = 256


def split_block(parts: int) -> Callable[[Subject, Structure], Rewrite | None]:
    """Make the rule that splits the block of an element-wise kernel in `parts`."""

    def rule(subject: Subject, _structure: Structure) -> Rewrite | None:
        file = read_kernel(subject.source, subject.launch.kernel)
        body = read_body(file, subject.launch) if file is not None else None
        for size in independent_sizes(body) if body is not None and _keeps_order(body) else ():
            known = size.known
            if file is None or known is None or known % parts or known // parts < 1 or not _is_large(body, parts):
                continue
            source = _split(file, size, known // parts)
            if source is not None:
                claim = message("rewrite.split_block_claim", block=known, part=known // parts)
                return Rewrite(f"split_block_{parts}", source, claim, message("rewrite.split_block_precondition"))
        return None

    return rule


def _is_large(body: KernelBody | None, parts: int) -> bool:
    """Tell whether a part of the largest tile is still worth an instruction."""
    tiles = [pointer for _, pointer in _accesses(body) if pointer is not None] if body is not None else []
    sizes = [math.prod(size.known or 1 for size in pointer.shape) for pointer in tiles]
    return max(sizes, default=0) // parts >= LEAST_PART


def _split(file: KernelFile, size: Poly, part: int) -> str | None:
    if size.literal is None and len(size.terms) != 1:
        return None
    factor = size.terms[0][0]
    literal = size.literal is not None
    if not literal and (len(factor) != 1 or size.terms[0][1] != 1):
        return None
    block = str(size.literal) if literal else getattr(factor[0], "text", "")
    name, start = (str(part) if literal else file.fresh("PART")), file.fresh("part_start")
    tl = file.language
    # Another launch may have a smaller block than the part.
    before = () if literal else (f"{name}: {tl}.constexpr = {part} if {block} > {part} else {block}",)
    wrapping = Wrapping(before, f"for {start} in range(0, {block}, {name}):")
    edits = wrap_body(file, wrapping, _in_part(file, block, name, start))
    return file.apply(edits) if edits is not None else None


def _in_part(file: KernelFile, block: str, part: str, start: str) -> Substitute:
    def substitute(node: cst.CSTNode) -> str | None:
        name = language_call(node, file)
        if name == "arange" and isinstance(node, cst.Call) and file.text(node.args[-1].value) == block:
            return f"({start} + {file.language}.arange(0, {part}))"
        if isinstance(node, (cst.Tuple, cst.List)) and block in (texts := [file.text(e.value) for e in node.elements]):
            shape = ", ".join(part if text == block else text for text in texts)
            shape += "," if len(texts) == 1 and isinstance(node, cst.Tuple) else ""
            return shape if isinstance(node, cst.Tuple) else f"[{shape}]"
        return None

    return substitute


def _keeps_order(body: KernelBody) -> bool:
    """Tell whether no part can read what an earlier part has written: a tensor is read and written at one offset."""
    offsets: dict[str, set[Poly]] = {}
    written: set[str] = set()
    for name, pointer in _accesses(body):
        if pointer is None:
            return False
        offsets.setdefault(pointer.base, set()).add(pointer.poly)
        if name == "store":
            written.add(pointer.base)
    return all(len(offsets[base]) == 1 for base in written)


def _accesses(body: KernelBody) -> Iterator[tuple[str, Pointer | None]]:
    for point in body.points:
        if not isinstance(point.statement, cst.BaseSmallStatement):
            continue
        for node in walk(point.statement):
            name = language_call(node, body.file)
            if isinstance(node, cst.Call) and name in {"load", "store"}:
                address = argument(node, "pointer", 0)
                found = evaluate(address.value, point.scope) if address is not None else None
                yield name, found if isinstance(found, Pointer) else None

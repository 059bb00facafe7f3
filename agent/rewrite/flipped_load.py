"""Load in ascending order and flip on chip: descending offsets make the load scalar."""

from __future__ import annotations

from dataclasses import replace

from agent.records import Structure
from agent.rewrite.accesses import Load, find_loads
from agent.rewrite.addresses import write_address
from agent.rewrite.algebra import number, single
from agent.rewrite.expressions import body_of
from agent.rewrite.render import NotWritable
from agent.rewrite.source import Edit, argument
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message


def flipped_load(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn a load without a mask whose last axis has stride -1 into `tl.flip` of the ascending one; exact."""
    body = body_of(subject)
    for load in find_loads(body.at_line(structure.line)) if body is not None else ():
        edits = _edits(load)
        source = load.point.scope.file.apply(edits) if edits is not None else None
        if source is not None:
            line = load.point.scope.file.lines(load.call)[0]
            claim = message("rewrite.flipped_load_claim", line=line)
            return Rewrite("flipped_load", source, claim, message("rewrite.by_construction"))
    return None


def _edits(load: Load) -> list[Edit] | None:
    lane, address = load.lane(-1), argument(load.call, "pointer", 0)
    if lane is None or address is None or load.mask is not None or load.offsets.coefficients[lane].literal != -1:
        return None
    file, scope = load.point.scope.file, load.point.scope
    # With j = size-1 - i in the place of i, -i is j - (size-1).
    poly = load.pointer.poly + single(lane) * number(2) - (lane.size - number(1))
    try:
        text = write_address(replace(load.pointer, poly=poly), load.rank, scope)
    except NotWritable:
        return None
    start, end = file.span(load.call)
    opening = Edit(start, start, f"{file.language}.flip(")
    return [opening, file.replace(address.value, text), Edit(end, end, f", {load.rank - 1})")]

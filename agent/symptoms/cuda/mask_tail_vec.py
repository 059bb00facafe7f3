"""A tail mask without alignment makes every access scalar, though the layout is wide."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_multiples
from agent.symptoms.cuda.reading import (
    CUDA,
    TO_LLVM,
    Access,
    accesses,
    final_flow,
    parameter,
    told,
    unaligned,
    weight_of,
    widest_in_ptx,
)
from agent.symptoms.cuda.unknown_stride import loose_factors
from agent.symptoms.structure import Flow
from indexer.ir.records import IrOp

_PLAIN = frozenset({"tt.load", "tt.store"})


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None:
        return []
    seen = accesses(subject, _PLAIN)
    wide = [a for a in seen if widest_in_ptx(subject, a.line) > a.tile.element_bytes]
    found = [a for a in seen if _is_narrowed(subject, flow, a) and not _is_tail(flow, a, wide)]
    if not found:
        return []
    first = next((a for a in found if a.op.name == "tt.load"), found[0])
    note = f"PTX: {widest_in_ptx(subject, first.line)} bytes an access, {first.width_bytes} by layout"
    weight = weight_of(subject, first.line, (a.line for a in found), 0.8)
    return [told(subject, "mask_tail_vec", [first.op], TO_LLVM, line=first.line, weight=weight, stage="ptx", note=note)]


def mask_operand(op: IrOp) -> int | None:
    """Return which operand of a load or store is its mask, None where it has none."""
    number = 1 if op.name == "tt.load" else 2
    return number if len(op.operands) > number and "i1" in op.operands[number].type else None


def _is_narrowed(subject: Subject, flow: Flow, seen: Access) -> bool:
    mask = mask_operand(seen.op)
    if mask is None or seen.width_bytes <= seen.tile.element_bytes:
        return False
    if loose_factors(subject, flow, seen.op):  # the address alone would narrow it
        return False
    in_ptx = widest_in_ptx(subject, seen.line)
    return 0 < in_ptx <= seen.tile.element_bytes and isinstance(flow.producer(seen.op, mask), IrOp)


def _is_tail(flow: Flow, seen: Access, wide: list[Access]) -> bool:
    """Tell whether a narrow access stands in a branch, and the whole tiles go another way, with wide ones."""
    branches = [p for p in flow.parents(seen.op) if p.name in {"scf.if", "cf.cond_br"}]
    return bool(branches) and any(a.op.name == seen.op.name for a in wide)


def _bounds(subject: Subject, structure: Structure) -> list[str]:
    """Name the integer arguments that the masks on the line compare with, and that are not known to be aligned."""
    flow = final_flow(subject)
    if flow is None:
        return []
    loose, found = unaligned(subject), set()
    for seen in accesses(subject, _PLAIN):
        mask = mask_operand(seen.op)
        if mask is not None and seen.line == structure.line:
            found |= {parameter(flow, made) for made in flow.slice_back(seen.op, mask)}
    names = list(subject.launch.signature.items())
    return [name for i, (name, kind) in enumerate(names) if i in found & loose and not kind.startswith("*")]


MASK_TAIL_VEC = Symptom(
    "mask_tail_vec", CUDA, "ir", (TO_LLVM,), ("tt.load", "tt.store", "arith.cmpi"),
    "vector width of a masked load is limited by the mask alignment when lowered to LLVM; getMaskAlignment vec",
    _detect, with_multiples("mask_tail_vec", _bounds), area="cuda",
)  # fmt: skip

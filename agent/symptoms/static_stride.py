"""A constant stride above 1 on the last axis: one 32-byte slot an element, then a de-interleave."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.access import Transfer, deinterleaves, spread_origin, stride_structures
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code
from agent.symptoms.origin import Origin, origin, origin_at
from agent.symptoms.structure import flows, has_op, line_of
from indexer.ir.records import IrOp, Snapshot

RECOGNIZE = "hivm-recognize-deinterleave-op"
ALIGN = "hivm-enable-stride-align"
PASSES = (RECOGNIZE, ALIGN, "triton-to-linalg")


def _belongs(transfer: Transfer) -> bool:
    stride = transfer.last_stride()
    if deinterleaves(transfer):
        return not transfer.has_unit_stride_elsewhere
    return stride is not None and stride > 1 and transfer.spreads and not transfer.has_unit_stride_elsewhere


def _detect(subject: Subject) -> list[Structure]:
    found = stride_structures("static_stride", subject, _belongs, lambda t: _origin(subject, t), 0.9)
    # A de-interleave that another pass made is the kernel's own tl.split of a contiguous load: the remedy, no symptom.
    return [s for s in found if s.pass_argument in PASSES]


def _origin(subject: Subject, transfer: Transfer) -> Origin:
    made_by = deinterleave_origin(subject, transfer) or spread_origin(subject, transfer)
    if made_by.pass_argument in PASSES or splits(subject, line_of(transfer.op)):
        return made_by
    return _pair_origin(subject, line_of(transfer.op)) or made_by


def splits(subject: Subject, line: int | None) -> bool:
    """Tell whether the kernel itself takes a tile apart on a line."""
    first = subject.compilation.snapshots[:1]
    return any(op.name == "tt.split" and line_of(op) == line for s in first for f in flows(s) for op in f.ops)


def _pair_origin(subject: Subject, line: int | None) -> Origin | None:
    """Find the adapter's pass that made of a stride of two a load of both and a slice of every second element."""

    def halves(snapshot: Snapshot) -> bool:
        return has_op(snapshot, lambda op: line_of(op) == line and _takes_every_second(op))

    made = [s for s in subject.compilation.snapshots if s.compiler == "adapter" and halves(s)]
    return origin(subject, made[-1], halves) if made else None


def _takes_every_second(op: IrOp) -> bool:
    return op.name == "tensor.extract_slice" and op.attributes.get("static_strides", "").rstrip("> ").endswith(" 2")


def deinterleave_origin(subject: Subject, transfer: Transfer) -> Origin | None:
    """Find the pass that recognised a de-interleave after a load, None where there is none."""
    final = subject.compilation.hivm
    picked = deinterleaves(transfer)
    if final is None or not picked:
        return None
    return origin_at(subject, final, line_of(picked[0]), lambda op: op.name == "hivm.hir.vdeinterleave")


def unit_stride(symptom: str, subject: Subject, structure: Structure) -> Variant | None:
    """Make the step of the last axis 1 where the line's addresses multiply it."""
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)
    addresses = [c.args[0] for c in code.calls("load", "store") if c.args]
    edit = code.change(code.feeding(addresses), lambda node: _unscaled(code, node))
    return edit.variant(symptom, structure.line) if edit else None


def _unscaled(code: Code, node: ast.expr) -> ast.expr | None:
    """Drop the factor of a product with a range that runs along the last axis."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    for ranged, factor in ((node.left, node.right), (node.right, node.left)):
        if code.is_tensor(ranged) and not code.is_tensor(factor) and runs_last(code, ranged):
            return ranged
    return None


def runs_last(code: Code, expr: ast.expr) -> bool:
    """Tell whether a range varies along the last axis: it is 1-D, or its last subscript is a whole slice."""
    marks = [
        n.slice.elts[-1] for root in code.feeding([expr]) for n in ast.walk(root)
        if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple) and n.slice.elts
    ]  # fmt: skip
    return all(isinstance(mark, ast.Slice) for mark in marks)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Read every element instead of every n-th."""
    return unit_stride("static_stride", subject, structure)


STATIC_STRIDE = Symptom(
    id="static_stride",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=PASSES,
    ops=("hivm.hir.vdeinterleave", "hivm.hir.load"),
    query="recognize deinterleave non-unit last stride load contiguous buffer channel num stride align 32 byte slot "
    "isDeinterleavePattern isLastDimUnContinuous",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store"}),
    is_moved=True,
)

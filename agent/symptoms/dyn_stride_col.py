"""A run-time stride on the last axis: the data stay spread over 32-byte slots in the buffer."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.access import Transfer, deinterleaves, spread_origin, stride_structures
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.static_stride import ALIGN, unit_stride


def _belongs(transfer: Transfer) -> bool:
    return (
        transfer.last_stride() is None and transfer.spreads and not transfer.has_unit_stride_elsewhere
        and not deinterleaves(transfer)
    )  # fmt: skip


def _detect(subject: Subject) -> list[Structure]:
    return stride_structures("dyn_stride_col", subject, _belongs, lambda t: spread_origin(subject, t), 0.9)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Take the stride of the last axis as 1."""
    return unit_stride("dyn_stride_col", subject, structure)


DYN_STRIDE_COL = Symptom(
    id="dyn_stride_col",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(ALIGN, "hivm-mark-stride-align"),
    ops=("hivm.hir.load", "memref.alloc", "memref.subview"),
    query="mark stride align last dimension not contiguous dynamic stride 32-byte alignment enable stride align alloc",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store"}),
)

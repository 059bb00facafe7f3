"""A tile read with swapped strides: element by element into padded slots, because the last axis is not contiguous."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.access import Transfer, spread_origin, stride_structures
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import is_call
from agent.symptoms.origin import Origin
from agent.symptoms.static_stride import ALIGN, RECOGNIZE, deinterleave_origin, unit_stride


def is_swapped(transfer: Transfer) -> bool:
    """Tell whether another axis than the last is contiguous, and the last one is spread for it."""
    in_mix = "hivm.part_of_mix" in transfer.flow.function.attributes
    return transfer.spreads and transfer.has_unit_stride_elsewhere and transfer.last_stride() != 1 and not in_mix


def uses_block_pointers(subject: Subject) -> bool:
    """Tell whether the source makes block pointers, whose order then decides."""
    return any(is_call(node, "make_block_ptr") for node in ast.walk(ast.parse(subject.source)))


def _detect(subject: Subject) -> list[Structure]:
    found = stride_structures("implicit_transpose", subject, is_swapped, lambda t: swapped_origin(subject, t), 0.9)
    return [] if found and uses_block_pointers(subject) else found


def swapped_origin(subject: Subject, transfer: Transfer) -> Origin:
    """Find the pass that packs the spread data again, else the one that spread them."""
    return deinterleave_origin(subject, transfer) or spread_origin(subject, transfer)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Make the last axis contiguous."""
    return unit_stride("implicit_transpose", subject, structure)


IMPLICIT_TRANSPOSE = Symptom(
    id="implicit_transpose",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(RECOGNIZE, ALIGN, "hivm-mark-stride-align"),
    ops=("hivm.hir.load", "hivm.hir.vdeinterleave"),
    query="implicit transpose with last axis load strides swapped deinterleave stride align padded rank 3 buffer "
    "isDeinterleavePattern isLastDimUnContinuous",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store"}),
)

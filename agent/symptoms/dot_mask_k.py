"""A masked dot operand fills the cube's L1 buffer in every iteration."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import edit_line
from agent.symptoms.mask_fill import DECOMPOSE, fills, unmasked_load


def _detect(subject: Subject) -> list[Structure]:
    return fills("dot_mask_k", subject, "hivm.hir.nd2nz", "cbuf", lambda _flow, _fill: 0.4)


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Load without the mask."""
    return edit_line("dot_mask_k", subject, structure, unmasked_load)


DOT_MASK_K = Symptom(
    id="dot_mask_k",
    archs=frozenset({"a3", "a5"}),
    rung="ir",
    passes=(DECOMPOSE, "hivm-normalize-matmul"),
    ops=("hivm.hir.vbrc", "hivm.hir.nd2nz"),
    query="nd2nz init out buffer pad value decompose vbrc cbuf L1 dot_pad_only_k masked K tail",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "scalar"}),
    is_moved=True,
)

"""A dot on Hopper uses mma.sync: its tile is too small for wgmma."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import none
from agent.symptoms.cuda.reading import ACCELERATE, CUDA, final_flow, told
from agent.symptoms.structure import line_of
from indexer.ir.records import IrOp

_HOPPER = "cuda:90"


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None or subject.compilation.target != _HOPPER:
        return []
    found = [op for op in flow.ops if _is_second_version(op)]
    return [told(subject, "dot_no_wgmma", [op], ACCELERATE, line=line_of(op), weight=0.6) for op in found[:1]]


def _is_second_version(op: IrOp) -> bool:
    found = tile(op.results[0].type) if op.name == "tt.dot" else None
    return found is not None and found.layout is not None and "versionMajor = 2" in found.layout.text


DOT_NO_WGMMA = Symptom(
    "dot_no_wgmma", CUDA, "ir", (ACCELERATE,), ("tt.dot", "ttg.local_load"),
    "mma version 3 wgmma needs four warps M of 64 N of 8; supportMMA getMMAVersionSafe",
    _detect, none, area="cuda",
)  # fmt: skip

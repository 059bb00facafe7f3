"""A program keeps more values than its threads have registers, and spills them to memory."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_option
from agent.symptoms.cuda.reading import CUDA, accesses, told, warps_of
from agent.toolchain.cuda import ASSEMBLER

# A few spilled bytes cost nothing (a dozen to some fifty in kernels that are fast).
_LEAST_BYTES = 256
_MOST_WARPS, _TIMES = 16, 8


def _detect(subject: Subject) -> list[Structure]:
    gpu = subject.compilation.gpu
    if gpu is None or gpu.spill_bytes <= _LEAST_BYTES:
        return []
    tiles = sorted(accesses(subject), key=lambda a: -a.tile.elements)[:1]
    note = (
        f"ptxas: {gpu.registers} registers, {gpu.spill_store_bytes} bytes spill stores, "
        f"{gpu.spill_load_bytes} bytes spill loads"
    )
    return [told(subject, "reg_spill", [a.op for a in tiles], ASSEMBLER, line=None, stage="ptxas", note=note)]


def _more_warps(subject: Subject, _structure: Structure) -> int | None:
    warps = warps_of(subject)
    return min(_MOST_WARPS, warps * _TIMES) if warps < _MOST_WARPS else None


REG_SPILL = Symptom(
    "reg_spill", CUDA, "ir", (), ("tt.load", "tt.reduce"),
    "register spills to local memory ptxas spill stores registers per thread num_warps maxnreg",
    _detect, with_option("reg_spill", "num_warps", _more_warps), area="cuda",
)  # fmt: skip

"""The buffers of the pipeline leave room for one small program on each multiprocessor."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import with_option
from agent.symptoms.cuda.reading import CUDA, PIPELINE, final_flow, option, told
from agent.symptoms.structure import line_of
from agent.toolchain.cuda_targets import find_cuda_target, occupancy
from indexer.ir.records import IrOp

# Resident warps of a multiprocessor, one for each of its schedulers: fewer leave one idle whenever a warp waits.
_MOST_WARPS = 4


def _detect(subject: Subject) -> list[Structure]:
    flow, gpu = final_flow(subject), subject.compilation.gpu
    target = find_cuda_target(subject.compilation.target)
    if flow is None or gpu is None or target is None:
        return []
    fits = occupancy(target, gpu.warps, gpu.registers, gpu.shared_bytes).by_limit
    buffers = [op for op in flow.ops if _is_pipelined(op)]
    if not buffers or fits["shared"] * gpu.warps > _MOST_WARPS or fits["registers"] <= fits["shared"]:
        return []
    copy = next((op for op in flow.ops if op.name.startswith("ttg.async_copy_global") and flow.loops(op)), None)
    line = line_of(copy) if copy is not None else None
    note = (
        f"{gpu.shared_bytes} bytes of shared memory a program: {fits['shared']} fit, {fits['registers']} by registers"
    )
    # Measured: 2 % on an H200.
    return [told(subject, "smem_occupancy", buffers, PIPELINE, line=line, weight=0.2, note=note)]


def _is_pipelined(op: IrOp) -> bool:
    """Tell whether an operation allocates one buffer for each stage, two or more."""
    if op.name != "ttg.local_alloc" or op.operands:
        return False
    first = op.results[0].type.partition("<")[2].partition("x")[0]
    return first.isdigit() and int(first) >= 2


def _fewer_stages(subject: Subject, _structure: Structure) -> int | None:
    return 2 if option(subject, "num_stages", 3) > 2 else None


SMEM_OCCUPANCY = Symptom(
    "smem_occupancy", CUDA, "ir", (PIPELINE, "allocate-shared-memory-nv"), ("ttg.local_alloc",),
    "number of buffers of a pipelined load is the stage distance of load and use plus one for wgmma; shared memory",
    _detect, with_option("smem_occupancy", "num_stages", _fewer_stages), area="cuda",
)  # fmt: skip

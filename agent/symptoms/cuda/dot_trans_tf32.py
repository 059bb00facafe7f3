"""A 32-bit operand of a dot lies along the wrong axis, so it is copied four bytes at a time."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import none
from agent.symptoms.cuda.reading import ACCELERATE, CUDA, final_flow, near_first, told, widest_in_ptx
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp

_INTO_SHARED = frozenset({"ttg.async_copy_global_to_local", "ttg.local_alloc", "ttg.local_store"})
_WIDE = 32


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None or not any(op.name == "ttng.warp_group_dot" for op in flow.ops):
        return []
    found = [op for op in flow.ops if op.name in _INTO_SHARED and _is_turned(op)]
    if not found:
        return []
    line = _line(flow, found[0])
    note = f"PTX: {widest_in_ptx(subject, line)} bytes a copy"
    return [told(subject, "dot_trans_tf32", found[:1], ACCELERATE, line=line, note=note)]


def _is_turned(op: IrOp) -> bool:
    """Tell whether a tile of 32-bit elements goes into a buffer whose contiguous axis is not its own."""
    if len(op.operands) == 0:
        return False
    source = tile(op.operands[0].type)
    buffer = op.results[0].type if op.name == "ttg.local_alloc" else op.operands[1].type
    if source is None or source.layout is None or len(source.layout.order) != 2:
        return False
    if "nvmma_shared" not in buffer or f"elementBitWidth = {_WIDE}" not in buffer:
        return False
    fast_is_last = source.layout.order[0] == 1
    wide = source.layout.size_per_thread[source.layout.order[0]] > 1
    return wide and fast_is_last == ("transposed = true" in buffer)


def _line(flow: Flow, op: IrOp) -> int | None:
    if op.name.startswith("ttg.async_copy"):
        return line_of(op)
    made = next((made for made in near_first(flow, op, 0) if made.name == "tt.load"), op)
    return line_of(made)


DOT_TRANS_TF32 = Symptom(
    "dot_trans_tf32", CUDA, "ir", (ACCELERATE, "convert-triton-gpu-to-llvm"),
    ("ttg.async_copy_global_to_local", "ttng.warp_group_dot", "ttg.local_alloc"),
    "wgmma transposes only 16-bit operands in shared memory; transposed nvmma shared order of a 32-bit operand",
    _detect, none, area="cuda",
)  # fmt: skip

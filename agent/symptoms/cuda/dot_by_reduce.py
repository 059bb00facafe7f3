"""16-bit operands are widened to f32 before they are multiplied, so the product is not a 16-bit one."""

from __future__ import annotations

from agent.gpu.ttgir import DOTS
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import on_line, without_cast
from agent.symptoms.cuda.reading import CUDA, near_first, told, ttir_flow
from agent.symptoms.structure import Flow, line_of
from indexer.ir.blame import SOURCE
from indexer.ir.records import IrOp

_COMBINE = "triton-combine"
_SHORT = ("f16", "bf16")
_VIEWS = frozenset({
    "tt.trans", "ttg.convert_layout", "tt.reshape", "ttg.local_alloc", "ttg.local_load", "tt.broadcast",
    "tt.expand_dims", "ttg.memdesc_trans",
})  # fmt: skip


def _detect(subject: Subject) -> list[Structure]:
    flow = ttir_flow(subject)
    if flow is None or subject.compilation.hivm is None:
        return []
    for op in flow.ops:
        if op.name in DOTS and is_widened(flow, op):
            wide = [made for operand in (0, 1) for made in near_first(flow, op, operand) if made.name == "arith.extf"][
                :2
            ]
            return [told(subject, "dot_by_reduce", [op, *wide], _maker(subject, op), line=line_of(op), stage="ttir")]
    return []


def is_widened(flow: Flow, dot: IrOp) -> bool:
    """Tell whether both operands of a dot are 16-bit values that were widened to f32."""
    return all(_from_short(flow, dot, operand) for operand in (0, 1))


def _from_short(flow: Flow, dot: IrOp, operand: int) -> bool:
    made = flow.producer(dot, operand)
    while isinstance(made, IrOp) and made.name in _VIEWS and made.operands:
        made = flow.producer(made, 0)
    if not isinstance(made, IrOp) or made.name != "arith.extf":
        return False
    return any(f"x{short}" in made.operands[0].type.partition(", #")[0] for short in _SHORT)


def _maker(subject: Subject, dot: IrOp) -> str | None:
    """Return the pass that made the dot, None where the source has it."""
    first = next((s for s in subject.compilation.snapshots if s.pass_argument == SOURCE), None)
    written = first is not None and any(
        op.name == "tt.dot" and line_of(op) == line_of(dot) for f in first.functions.values() for op in f.walk()
    )
    return None if written else _COMBINE


DOT_BY_REDUCE = Symptom(
    "dot_by_reduce", CUDA, "ir", (_COMBINE,), ("tt.dot", "arith.extf", "tt.reduce"),
    "sum of a broadcast product is combined into a dot CombineBroadcastMulReducePattern f32 operands precision",
    _detect, on_line("dot_by_reduce", without_cast), area="cuda",
)  # fmt: skip

"""A load that is the same in every iteration stays in the loop, since the loop also stores."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import hoisted
from agent.symptoms.cuda.reading import CUDA, final_flow, is_inside, loop_of, told
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp

_LICM = "triton-licm"
_WRITES = ("tt.store", "tt.atomic", "tt.descriptor_store", "tt.print", "ttng.async_tma_copy_local")


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    found = [op for op in flow.ops if op.name == "tt.load" and _is_invariant(flow, op)] if flow is not None else []
    # Measured: 1 % on an H200; the second load of a line comes from L1.
    return [told(subject, "invariant_reload", [op], _LICM, line=line_of(op), weight=0.3) for op in found[:1]]


def _is_invariant(flow: Flow, op: IrOp) -> bool:
    loop = loop_of(flow, op)
    if loop is None or any(is_inside(flow, made, loop) for made in flow.producers(op)):
        return False
    return any(inner.name.startswith(_WRITES) for inner in loop.walk())


INVARIANT_RELOAD = Symptom(
    "invariant_reload", CUDA, "ir", (_LICM,), ("tt.load", "scf.for", "tt.store"),
    "loop invariant code motion of loads only when the loop has no memory effect other than reads",
    _detect, hoisted("invariant_reload"), area="cuda",
)  # fmt: skip

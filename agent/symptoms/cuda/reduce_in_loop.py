"""A tree reduction across warps runs in every iteration, and its result is carried on."""

from __future__ import annotations

from agent.gpu.ttgir import tile
from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import none
from agent.symptoms.cuda.reading import CUDA, final_flow, loop_of, told
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    for op in flow.ops if flow is not None else []:
        loop = loop_of(flow, op) if flow is not None else None
        if flow is not None and loop is not None and _crosses_warps(op) and _is_carried(flow, op, loop):
            # Measured: no difference on an H200; memory hides the exchange.
            return [told(subject, "reduce_in_loop", [op], None, line=line_of(op), weight=0.5)]
    return []


def _crosses_warps(op: IrOp) -> bool:
    found = tile(op.operands[0].type) if op.name == "tt.reduce" else None
    axis = int(op.attributes.get("axis", "0").split(" ")[0]) if found is not None else 0
    layout = found.layout if found is not None else None
    return layout is not None and axis < len(layout.warps) and layout.warps[axis] > 1


def _is_carried(flow: Flow, op: IrOp, loop: IrOp) -> bool:
    """Tell whether the result reaches the next iteration of the loop."""
    seen: set[int] = set()
    waiting = list(flow.users(op))
    while waiting:
        user = waiting.pop()
        if id(user) in seen or not any(p is loop for p in flow.parents(user)):
            continue
        seen.add(id(user))
        if user.name == "scf.yield" and loop_of(flow, user) is loop and flow.parents(user)[-1] is loop:
            return True
        outer = flow.parents(user)[-1]
        waiting += flow.users(outer) if user.name == "scf.yield" else flow.users(user)
    return False


REDUCE_IN_LOOP = Symptom(
    "reduce_in_loop", CUDA, "ir", (), ("tt.reduce", "scf.for", "scf.yield"),
    "reduction in a loop turned into per thread accumulation optimize thread locality rank conditions; reduce lowering",
    _detect, none, area="cuda",
)  # fmt: skip

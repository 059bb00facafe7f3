"""The accumulator is touched in every iteration, so each wgmma is waited for at once."""

from __future__ import annotations

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import dot_alone, on_line
from agent.symptoms.cuda.reading import CUDA, PIPELINE, final_flow, is_inside, loop_of, near_first, told
from agent.symptoms.structure import Flow, line_of
from indexer.ir.records import IrOp

_WAIT, _DOT = "ttng.warp_group_dot_wait", "ttng.warp_group_dot"
_LINEAR = frozenset({"arith.mulf", "arith.addf", "arith.subf", "arith.divf", "arith.negf", "math.fma"})
_CASTS = frozenset({"arith.truncf", "arith.extf", "ttg.convert_layout"})
_LONGEST = 16


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None or not any(op.name.startswith(("ttg.async_copy", "ttng.async_tma")) for op in flow.ops):
        return []
    for wait in flow.ops:
        loop = loop_of(flow, wait)
        if wait.name == _WAIT and loop is not None and _pendings(wait) == 0:
            dot = next((made for made in near_first(flow, wait, 0) if made.name == _DOT), wait)
            touched = _touched_after(flow, wait, loop) or _touched_before(flow, dot, loop)
            if touched:
                return [told(subject, "dot_scale_loop", [wait, dot], PIPELINE, line=line_of(dot), weight=0.3)]
    return []


def _pendings(wait: IrOp) -> int | None:
    text = wait.attributes.get("pendings", "").split(" ")[0]
    return int(text) if text.isdigit() else None


def _touched_after(flow: Flow, wait: IrOp, loop: IrOp) -> bool:
    """Tell whether the result reaches the next iteration by linear arithmetic only, and by some."""
    waiting, steps = [(user, 0) for user in flow.users(wait)], 0
    while waiting and steps < _LONGEST:
        steps += 1
        user, touched = waiting.pop()
        if user.name == "scf.yield" and loop_of(flow, user) is loop and touched:
            return True
        if user.name in _LINEAR | _CASTS and loop_of(flow, user) is loop:
            waiting += [(next_user, touched + (user.name in _LINEAR)) for next_user in flow.users(user)]
    return False


def _touched_before(flow: Flow, dot: IrOp, loop: IrOp) -> bool:
    """Tell whether what the loop carries is scaled by the same value each time before it is accumulated into.

    By another value each time is a rescaled softmax, where the wait is inherent.
    """
    if len(dot.operands) < 3:
        return False
    made = flow.producer(dot, 2)
    if not isinstance(made, IrOp) or made.name not in {"arith.mulf", "arith.divf"} or not is_inside(flow, made, loop):
        return False
    return any(not is_inside(flow, factor, loop) for factor in flow.producers(made))


DOT_SCALE_LOOP = Symptom(
    "dot_scale_loop", CUDA, "ir", (PIPELINE,), (_WAIT, _DOT, "arith.mulf"),
    "a warp group dot can stay asynchronous only if its result goes straight to the next iteration's accumulator; wait",
    _detect, on_line("dot_scale_loop", dot_alone), area="cuda",
)  # fmt: skip

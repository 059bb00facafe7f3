"""Every element is one atomic on addresses that all programs share."""

from __future__ import annotations

from math import prod

from agent.gpu.address import base_of
from agent.gpu.ttgir import DOTS, tile
from agent.records import Structure, TensorArgument
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import none
from agent.symptoms.cuda.reading import CUDA, final_flow, scalars_of, told
from agent.symptoms.structure import LOOPS, Flow, line_of
from indexer.ir.records import IrOp

# Atomics for each address: below this they hardly meet.
_LEAST_SHARED = 16


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None:
        return []
    atomics = [op for op in flow.ops if op.name == "tt.atomic_rmw" and tile(op.operands[0].type) is not None]
    shared = (op for op in atomics if not _is_reduced(flow, op) and not _is_own(flow, op))
    found = next((op for op in shared if _meets(subject, flow, op)), None)
    return [] if found is None else [_told(subject, found)]


def _told(subject: Subject, op: IrOp) -> Structure:
    return told(subject, "atomic_contention", [op], None, line=line_of(op), weight=0.9)


def _is_reduced(flow: Flow, op: IrOp) -> bool:
    """Tell whether the value is a sum already: of a reduction, a dot, or what a loop gathered."""
    made = [m for m in flow.slice_back(op, 1) if isinstance(m, IrOp)]
    return any(m.name in DOTS | LOOPS | {"tt.reduce", "tt.scan", "tt.histogram"} for m in made)


def _is_own(flow: Flow, op: IrOp) -> bool:
    """Tell whether each program has addresses of its own."""
    waiting = [flow.producer(op, 0)]
    while waiting:
        made = waiting.pop()
        if isinstance(made, IrOp):
            if made.name == "tt.get_program_id":
                return True
            if made.name != "tt.load":  # what is loaded says nothing of who else has the same
                waiting += flow.producers(made)
    return False


def _meets(subject: Subject, flow: Flow, op: IrOp) -> bool:
    """Tell whether the launch makes many atomics for each address, as far as the argument's size is known."""
    names, base = list(subject.launch.signature), base_of(flow, op)
    name = names[base] if base is not None and base < len(names) else ""
    found = [a for a in subject.launch.arguments if isinstance(a, TensorArgument) and a.name == name]
    each = tile(op.operands[0].type)
    if not found or each is None:
        return True
    made = each.elements * scalars_of(subject, flow).runs(op) * subject.launch.programs
    return made >= _LEAST_SHARED * max(1, prod(found[0].shape))


ATOMIC_CONTENTION = Symptom(
    "atomic_contention", CUDA, "ir", (), ("tt.atomic_rmw", "tt.load"),
    "atomic rmw lowered one to one vectorised atomics per element contention AtomicRMWOpConversion",
    _detect, none, area="cuda",
)  # fmt: skip

"""The tiles of a large product are visited row by row, so one operand streams from memory for each wave."""

from __future__ import annotations

from agent.gpu.address import base_of
from agent.gpu.ttgir import DOTS, LOADS
from agent.records import Structure, TensorArgument
from agent.symptoms.base import Subject, Symptom
from agent.symptoms.cuda.changes import none
from agent.symptoms.cuda.reading import CUDA, final_flow, told
from agent.symptoms.structure import Flow, line_of
from agent.toolchain.cuda_targets import find_cuda_target
from indexer.ir.records import IrOp

_DIVIDE, _REMAIN = frozenset({"arith.divsi", "arith.divui"}), frozenset({"arith.remsi", "arith.remui"})


def _detect(subject: Subject) -> list[Structure]:
    flow = final_flow(subject)
    if flow is None or not any(op.name in DOTS for op in flow.ops) or not _is_large(subject, flow):
        return []
    numbers = [op for op in flow.ops if op.name == "tt.get_program_id"]
    if len(numbers) != 1 or any(op.name in {"arith.minsi", "arith.minui"} for op in flow.ops):
        return []
    for row in flow.users(numbers[0]):
        if row.name in _DIVIDE and flow.producer(row, 0) is numbers[0] and _has_plain_column(flow, numbers[0], row):
            return [told(subject, "l2_order", [numbers[0], row], None, line=line_of(row), weight=1.0)]
    return []


def _has_plain_column(flow: Flow, number: IrOp, row: IrOp) -> bool:
    """Tell whether the column is the remainder by the same divisor, itself not divided again as in a grouped order."""
    divisor = flow.producer(row, 1)
    rests = [op for op in flow.users(number) if op.name in _REMAIN and flow.producer(op, 1) is divisor]
    differences = [op for op in flow.users(number) if op.name == "arith.subi"]
    columns = rests or differences
    used = [user for op in (row, *columns) for user in flow.users(op)]
    return bool(columns) and not any(user.name in _DIVIDE | _REMAIN for user in used)


def _is_large(subject: Subject, flow: Flow) -> bool:
    """Tell whether an operand does not fit the L2 cache; only a captured launch knows its size."""
    target = find_cuda_target(subject.compilation.target)
    names = list(subject.launch.signature)
    bases = {base_of(flow, op) for op in flow.ops if op.name in LOADS}
    read = {names[base] for base in bases if base is not None and base < len(names)}
    sizes = [_bytes(a) for a in subject.launch.arguments if isinstance(a, TensorArgument) and a.name in read]
    return target is not None and max(sizes, default=0) > target.l2_bytes


def _bytes(argument: TensorArgument) -> int:
    size = 1
    for extent in argument.shape:
        size *= extent
    bits = "".join(c for c in argument.dtype if c.isdigit())
    return size * max(1, int(bits or 8) // 8)


L2_ORDER = Symptom(
    "l2_order", CUDA, "ir", (), ("tt.get_program_id", "arith.divsi", "arith.remsi"),
    "grouped program order for L2 cache reuse in matrix multiplication GROUP_SIZE_M super-grouping tutorial",
    _detect, none, area="cuda",
)  # fmt: skip

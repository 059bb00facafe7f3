"""Transfers between global memory and on-chip buffers in the last HIVM module, and their strides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.records import Structure
from agent.symptoms.base import Subject
from agent.symptoms.origin import Origin, origin_at, structure
from agent.symptoms.structure import Argument, Flow, destination, flows, line_of
from indexer.ir.records import IrOp
from indexer.ir.types import Shaped, shaped

LOAD = "hivm.hir.load"
STORE = "hivm.hir.store"


@dataclass(frozen=True, slots=True)
class Transfer:
    """One load or store of the vector core: its two sides, global memory and the buffer."""

    flow: Flow
    op: IrOp
    gm: Shaped
    buffer: Shaped

    @property
    def is_load(self) -> bool:
        """Tell whether data come from global memory."""
        return self.op.name == LOAD

    @property
    def last_axis(self) -> int | None:
        """Return the last axis with more than one element, None for a single element."""
        return next((i for i in reversed(range(len(self.gm.shape))) if self.gm.shape[i] != 1), None)

    @property
    def has_unit_stride_elsewhere(self) -> bool:
        """Tell whether another axis than the last one is contiguous in global memory."""
        last = self.last_axis
        return any(s == 1 and self.gm.shape[i] != 1 and i != last for i, s in enumerate(self.gm.strides))

    @property
    def spreads(self) -> bool:
        """Tell whether neighbours of the last axis lie apart in the buffer."""
        last = self.last_axis
        return last is not None and last < len(self.buffer.strides) and (self.buffer.strides[last] or 0) > 1

    def last_stride(self) -> int | None:
        """Return the stride of the last axis in global memory, None when known only at run time; 1 for one element."""
        return 1 if self.last_axis is None else self.gm.strides[self.last_axis]


def transfers(subject: Subject) -> Iterator[Transfer]:
    """Yield the loads and stores between the user's tensors and on-chip buffers."""
    final = subject.compilation.hivm
    for flow in flows(final) if final is not None else ():
        for op in flow.ops:
            if op.name in {LOAD, STORE} and len(op.operands) > 1:
                far, near = (0, 1) if op.name == LOAD else (1, 0)
                gm, buffer = shaped(op.operands[far].type), shaped(op.operands[near].type)
                if gm is not None and buffer is not None and is_users(flow, op, far):
                    yield Transfer(flow, op, gm, buffer)


def is_users(flow: Flow, op: IrOp, operand: int) -> bool:
    """Tell whether an operand lies in a tensor of the user, and not in the compiler's workspace (a view of bytes)."""
    made = flow.producer(op, operand)
    while isinstance(made, IrOp) and made.name != "memref.view" and made.operands:
        made = flow.producer(made, 0)
    return isinstance(made, Argument)


def writers(flow: Flow, buffer: object) -> Iterator[IrOp]:
    """Yield the operations that write into a buffer."""
    for op in flow.ops:
        at = destination(op)
        if at is not None and flow.storage(op, at) is buffer:
            yield op


def stride_structures(
    symptom: str,
    subject: Subject,
    belongs: Callable[[Transfer], bool],
    made_by: Callable[[Transfer], Origin],
    weight: float,
) -> list[Structure]:
    """Return one structure a line for the transfers that belong to a symptom."""
    found: dict[int | None, Structure] = {}
    for transfer in transfers(subject):
        line = line_of(transfer.op)
        if line not in found and belongs(transfer):
            found[line] = structure(symptom, _shown(transfer), made_by(transfer), line=line, weight=weight)
    return list(found.values())


def _shown(transfer: Transfer) -> list[IrOp]:
    """Show the transfer, the buffer it fills or empties, and what puts the data together again."""
    near = 1 if transfer.is_load else 0
    buffer = transfer.flow.storage(transfer.op, near)
    shown = [transfer.op]
    if isinstance(buffer, IrOp):
        shown += [buffer, *(u for u in transfer.flow.users(buffer) if u.name == "memref.subview")][:2]
    return shown + deinterleaves(transfer)


def deinterleaves(transfer: Transfer) -> list[IrOp]:
    """Return the operations that pick the wanted channel out of what a load brought."""
    buffer = transfer.flow.storage(transfer.op, 1)
    return [
        op for op in transfer.flow.ops
        if op.name == "hivm.hir.vdeinterleave" and transfer.is_load and transfer.flow.storage(op, 0) is buffer
    ]  # fmt: skip


def spread_origin(subject: Subject, transfer: Transfer) -> Origin:
    """Find the pass that spread a buffer's last axis."""
    final = subject.compilation.hivm
    assert final is not None  # noqa: S101 - the transfer was read from it
    name, line, near = transfer.op.name, line_of(transfer.op), 1 if transfer.is_load else 0

    def spread(op: IrOp) -> bool:
        kind = shaped(op.operands[near].type) if op.name == name and len(op.operands) > near else None
        return kind is not None and bool(kind.strides) and (kind.strides[-1] or 0) > 1

    return origin_at(subject, final, line, spread)

"""Matrix products and the traffic between the cube and the vector core, read while values are still SSA tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.symptoms.base import Subject
from agent.symptoms.structure import Argument, Flow, Producer, flows
from indexer.ir.records import IrOp, Snapshot

# The pass that takes a product out of the cube's accumulator: its name on A2/A3, and on 950.
FIXPIPE_PASSES = ("hivm-inline-fixpipe", "hivm-insert-fixpipe")
ROUND_TRIP_PASS = "hivm-insert-load-store-for-mix-cv"  # noqa: S105 - a compiler pass
MMAD = "hivm.hir.mmadL1"
FIXPIPE = "hivm.hir.fixpipe"
VECTOR_FUNCTION = "hivm.vector_function"
_PASSED_ON = frozenset(
    {"tensor.expand_shape", "tensor.collapse_shape", "tensor.cast", "annotation.mark", "tensor.extract_slice"}
)


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product, in the module in which it was found."""

    flow: Flow
    snapshot: Snapshot
    op: IrOp

    @property
    def loop(self) -> IrOp | None:
        """Return the innermost loop around the product."""
        loops = self.flow.loops(self.op)
        return loops[-1] if loops else None

    def fixpipes(self) -> list[IrOp]:
        """Return the operations that take this product, and not a loop's final value, out of the accumulator."""
        return [u for u in self.flow.users(self.op) if u.name == FIXPIPE]


def products(subject: Subject, passes: tuple[str, ...]) -> Iterator[Product]:
    """Yield the products of the module after the last run of one of `passes`."""
    found = [s for s in subject.compilation.snapshots if s.pass_argument in passes]
    for flow in flows(found[-1]) if found else ():
        yield from (Product(flow, found[-1], op) for op in flow.ops if op.name == MMAD)


def vector_users(flow: Flow, value: IrOp) -> list[IrOp]:
    """Return the vector operations that work on a value, through changes of shape.

    On 950 these are calls of outlined vector functions.
    """
    found: list[IrOp] = []
    for user in flow.users(value):
        if user.name in _PASSED_ON:
            found += vector_users(flow, user)
        elif user.name.startswith("hivm.hir.v") or VECTOR_FUNCTION in user.attributes:
            found.append(user)
    return found


def adds_only(snapshot: Snapshot, op: IrOp) -> bool:
    """Tell whether an operation, or the vector function that it calls, computes a sum and nothing else."""
    if op.name != "func.call":
        return op.name == "hivm.hir.vadd"
    callee = snapshot.functions.get(op.attributes.get("callee", "").strip('@"'))
    names = [inner.name for inner in callee.walk()] if callee is not None else []
    return {n for n in names if n.startswith(("arith.", "math.")) and n != "arith.constant"} == {"arith.addf"}


def is_carried(made: Producer | None, loop: IrOp | None) -> bool:
    """Tell whether a value is one that the loop carries from iteration to iteration."""
    return isinstance(made, Argument) and loop is not None and made.owner is loop and made.index > 0


def source_of(flow: Flow, op: IrOp, operand: int) -> IrOp | None:
    """Return what a tensor operand was made by, through changes of shape."""
    made = flow.producer(op, operand)
    while isinstance(made, IrOp) and made.name in _PASSED_ON:
        made = flow.producer(made, 0)
    return made if isinstance(made, IrOp) else None


def loaded_by(flow: Flow, value: IrOp) -> IrOp | None:
    """Return the load that fills the buffer a tensor is made from."""
    if value.name != "bufferization.to_tensor":
        return value if value.name == "hivm.hir.load" else None
    return written_by(flow, value, "hivm.hir.load")


def written_by(flow: Flow, value: IrOp, name: str) -> IrOp | None:
    """Return the operation of this name that writes the buffer a tensor is made from."""
    buffer = flow.storage(value, 0)
    if not isinstance(buffer, IrOp):
        return None
    found = (op for op in flow.ops if op.name == name and len(op.operands) > 1)
    return next((op for op in found if flow.storage(op, 1) is buffer), None)

"""Reading the structure of one function of IR: types, definitions, uses, loops, on-chip buffers."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from indexer.ir.records import IrOp, IrValue, Snapshot
from indexer.ir.types import shaped

LOOPS = frozenset({"scf.for", "scf.while"})
# Operations whose result is another view of their first operand (of the second one for a select between two slots).
_VIEWS = frozenset({
    "memref.subview", "memref.reinterpret_cast", "memref.cast", "memref.collapse_shape", "memref.expand_shape",
    "memref.view", "memref.memory_space_cast", "bufferization.to_tensor", "bufferization.to_memref",
    "tensor.extract_slice", "tensor.expand_shape", "tensor.collapse_shape", "hivm.hir.bitcast",
    "builtin.unrealized_conversion_cast",
})  # fmt: skip
# The one vector operation that names its destination first (HIVMVectorOps.td: `dst, offset, strides`).
_DESTINATION_FIRST = frozenset({"hivm.hir.varange"})


@dataclass(frozen=True, slots=True)
class Argument:
    """A block argument: of a function its parameter, of a loop its induction variable or a carried value."""

    owner: IrOp
    index: int
    value: IrValue


Producer = IrOp | Argument


class Flow:
    """Definitions, uses and nesting inside one function; operations are identified by identity."""

    def __init__(self, function: IrOp) -> None:
        self.function = function
        self.ops: list[IrOp] = []
        self._parents: dict[int, tuple[IrOp, ...]] = {}
        self._producers: dict[int, tuple[Producer | None, ...]] = {}
        self._users: dict[int, list[IrOp]] = {}
        self._read(function, (), {})

    def _read(self, op: IrOp, parents: tuple[IrOp, ...], names: dict[str, Producer]) -> None:
        # A name printed twice is never visible twice, so the latest definition in print order is the one meant.
        self.ops.append(op)
        self._parents[id(op)] = parents
        found = tuple(names.get(v.name) for v in op.operands)
        self._producers[id(op)] = found
        for made in found:
            if isinstance(made, IrOp):
                self._users.setdefault(id(made), []).append(op)
        inner = (*parents, op)
        for region in op.regions:
            for block in region:
                names.update({v.name: Argument(op, i, v) for i, v in enumerate(block.arguments)})
                for child in block.ops:
                    self._read(child, inner, names)
        names.update({v.name: op for v in op.results})

    def producer(self, op: IrOp, operand: int) -> Producer | None:
        """Return what defines an operand; None for one that the dump does not define."""
        found = self._producers[id(op)]
        return found[operand] if operand < len(found) else None

    def producers(self, op: IrOp) -> tuple[Producer | None, ...]:
        """Return what defines each operand."""
        return self._producers[id(op)]

    def users(self, op: IrOp) -> list[IrOp]:
        """Return the operations that take a result of `op`, in program order (one twice if it takes it twice)."""
        return self._users.get(id(op), [])

    def parents(self, op: IrOp) -> tuple[IrOp, ...]:
        """Return the operations around `op`, outermost first."""
        return self._parents[id(op)]

    def loops(self, op: IrOp) -> tuple[IrOp, ...]:
        """Return the loops around `op`, outermost first."""
        return tuple(p for p in self._parents[id(op)] if p.name in LOOPS)

    def storage(self, op: IrOp, operand: int) -> Producer | None:
        """Follow an operand through views and slot selections to the buffer or argument that it lies in."""
        made = self.producer(op, operand)
        while isinstance(made, IrOp) and made.name in _VIEWS | {"arith.select"} and made.operands:
            made = self.producer(made, 1 if made.name == "arith.select" else 0)
        return made

    def slots(self, op: IrOp, operand: int) -> int:
        """Count the buffers among which an operand is selected: 2 or more where it is multi-buffered."""
        made = self.producer(op, operand)
        while isinstance(made, IrOp) and made.name in _VIEWS and made.operands:
            made = self.producer(made, 0)
        if isinstance(made, IrOp) and made.name == "arith.select":
            return sum(self._leaves(made, i) for i in (1, 2))
        # Before the slots are selected by hand, a multi-buffered cast names one address per slot.
        return len(made.operands) if isinstance(made, IrOp) and made.name == "hivm.hir.pointer_cast" else 1

    def _leaves(self, select: IrOp, operand: int) -> int:
        made = self.producer(select, operand)
        if isinstance(made, IrOp) and made.name == "arith.select":
            return sum(self._leaves(made, i) for i in (1, 2))
        return 1

    def slice_back(self, op: IrOp, operand: int, inside: IrOp | None = None) -> Iterator[Producer]:
        """Yield all that an operand is computed from, itself first; with `inside`, only within that operation."""
        seen: set[int] = set()
        waiting = [self.producer(op, operand)]
        while waiting:
            made = waiting.pop()
            if made is None or id(made) in seen:
                continue
            seen.add(id(made))
            if isinstance(made, Argument):
                yield made
            elif inside is None or any(p is inside for p in self._parents[id(made)]):
                yield made
                waiting += self._producers[id(made)]


@lru_cache(maxsize=4096)
def _segments(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"-?\d+", text.partition(":")[2]))


def destination(op: IrOp) -> int | None:
    """Return the index of the operand that an operation writes; None for one that writes no buffer."""
    if op.name == "memref.store":
        return 1
    if op.name == "memref.copy":
        return 1
    if not op.name.startswith("hivm.hir.") or not any(shaped(v.type) for v in op.operands):
        return None
    if op.name in _DESTINATION_FIRST:
        return 0
    if op.name == "hivm.hir.mmadL1":
        return 6
    segments = _segments(op.attributes.get("operandSegmentSizes", ""))
    if len(segments) > 1:
        return segments[0]
    ranked = [i for i, v in enumerate(op.operands) if shaped(v.type)]
    # `vbrc(value, destination[, scratch])` has no segments while it needs no scratch.
    return 1 if op.name == "hivm.hir.vbrc" else ranked[-1]


def device_functions(snapshot: Snapshot) -> list[IrOp]:
    """Return the functions that run on the device; declarations and host functions are left out."""
    return [
        f for f in snapshot.functions.values() if f.regions and "HOST" not in f.attributes.get("hacc.function_kind", "")
    ]


class _Memory:
    """The flows of the functions read last: one dump is read by many detectors."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[int, Flow] = OrderedDict()

    def flow(self, function: IrOp) -> Flow:
        found = self._known.pop(id(function), None)
        if found is None or found.function is not function:
            found = Flow(function)
        self._known[id(function)] = found  # holds the function, so that its id stays its own
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return found


_MEMORY = _Memory(64)


def flows(snapshot: Snapshot) -> list[Flow]:
    """Return the flow of each device function of a snapshot."""
    return [_MEMORY.flow(f) for f in device_functions(snapshot)]


def line_of(op: IrOp) -> int | None:
    """Return the user's line of an operation."""
    return op.place.line if op.place is not None else None


def has_op(snapshot: Snapshot, holds: Callable[[IrOp], bool]) -> bool:
    """Tell whether any operation of the device functions satisfies `holds`."""
    return any(holds(op) for f in device_functions(snapshot) for op in f.walk())

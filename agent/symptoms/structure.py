"""Reading the structure of one function of IR: types, definitions, uses, loops, on-chip buffers."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from indexer.ir.brackets import closing, split_commas
from indexer.ir.records import IrOp, IrValue, Snapshot

LOOPS = frozenset({"scf.for", "scf.while"})
_SHAPED = re.compile(r"^(memref|tensor)<")
_DIMENSION = re.compile(r"(\?|\d+)x")
_STRIDED = re.compile(r"^strided<\[([^\]]*)\]")
_SPACE = re.compile(r"#hivm\.address_space<(\w+)>")
_BITS = re.compile(r"\d+$")
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
class Shaped:
    """A memref or tensor type; None stands for a dimension or stride known only at run time."""

    shape: tuple[int | None, ...]
    element: str
    strides: tuple[int | None, ...]
    space: str

    @property
    def element_bits(self) -> int:
        """Return the width of an element; an i1 counts as one bit, an unknown type as 32."""
        found = _BITS.search(self.element)
        return int(found[0]) if found else 32

    @property
    def elements(self) -> int:
        """Return the number of elements, taking a dimension known only at run time as 1."""
        return math.prod(1 if d is None else d for d in self.shape)

    @property
    def bytes(self) -> int:
        """Return the size of the elements in bytes, at least 1."""
        return max(1, self.elements * self.element_bits // 8)

    @property
    def is_integer(self) -> bool:
        """Tell whether the elements are integers (an i1 mask is not)."""
        return self.element[:1] in {"i", "u", "s"} and self.element not in {"i1", "index"}


@lru_cache(maxsize=4096)
def shaped(text: str) -> Shaped | None:
    """Read a type text; None when it is no ranked memref or tensor."""
    found = _SHAPED.match(text)
    if not found:
        return None
    parts = split_commas(text[found.end() : closing(text, found.end() - 1) - 1])
    sizes, element = _dimensions(parts[0])
    space = next((m[1] for m in map(_SPACE.search, parts[1:]) if m), "")
    layout = next((m for m in map(_STRIDED.match, parts[1:]) if m), None)
    strides = _listed(layout[1]) if layout else _row_major(sizes)
    return Shaped(tuple(sizes), element, strides, space)


def _dimensions(text: str) -> tuple[list[int | None], str]:
    """Split `4x?xf32` into its sizes and the element type."""
    sizes: list[int | None] = []
    match = _DIMENSION.match(text)
    while match:
        sizes.append(None if match[1] == "?" else int(match[1]))
        text = text[match.end() :]
        match = _DIMENSION.match(text)
    return sizes, text


def _listed(text: str) -> tuple[int | None, ...]:
    return tuple(None if part == "?" else int(part) for part in split_commas(text))


def _row_major(dims: list[int | None]) -> tuple[int | None, ...]:
    strides: list[int | None] = []
    step: int | None = 1
    for dim in reversed(dims):
        strides.append(step)
        step = None if dim is None or step is None else step * dim
    return tuple(reversed(strides))


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

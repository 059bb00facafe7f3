"""Memory accesses that the adapter splits into a loop over single elements, and why their offsets made it do so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.records import Structure
from agent.symptoms.base import Subject
from agent.symptoms.origin import Origin, structure
from agent.symptoms.structure import Argument, Flow, Producer, flows, line_of
from indexer.ir.records import IrOp, Snapshot

# triton-ascend@23ac2717c0a3:ascend/lib/TritonToUnstructure/UnstructureConversionPass.cpp marks each loop that it makes.
UNSTRUCTURE = "triton-to-unstructure"
MARK = "ExtractedLoadOrStore"
_ACCESSES = frozenset({"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"})
_DIVISIONS = frozenset({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi"})


@dataclass(frozen=True, slots=True)
class Split:
    """A loop over elements: the access in it, and the tensor of offsets that the elements are taken from."""

    flow: Flow
    snapshot: Snapshot
    loop: IrOp
    access: IrOp
    extract: IrOp | None

    @property
    def is_load(self) -> bool:
        """Tell whether the split access reads memory."""
        return self.access.name == "tt.load"

    def offsets(self) -> list[Producer]:
        """Return all that the offsets are computed from."""
        return list(self.flow.slice_back(self.extract, 0)) if self.extract is not None else []

    @property
    def is_single(self) -> bool:
        """Tell whether each access moves one element, and not a row of them."""
        value = self.access.results[0] if self.access.results else self.access.operands[1]
        return not value.type.startswith("tensor<")

    @property
    def is_indirect(self) -> bool:
        """Tell whether the offsets come from memory."""
        return any(isinstance(p, IrOp) and p.name == "tt.load" for p in self.offsets())

    @property
    def divides(self) -> bool:
        """Tell whether the offsets are computed from a range by division or remainder."""
        found = (p for p in self.offsets() if isinstance(p, IrOp) and p.name in _DIVISIONS)
        return any(_is_ranged(self.flow, p, 0) for p in found)

    @property
    def descends(self) -> bool:
        """Tell whether a range is subtracted from something that is none."""
        found = (p for p in self.offsets() if isinstance(p, IrOp) and p.name == "arith.subi")
        return any(_is_ranged(self.flow, p, 1) and not _is_ranged(self.flow, p, 0) for p in found)

    @property
    def has_ranged_part(self) -> bool:
        """Tell whether an addend of the offsets is a plain range along an axis of its own, beside one from memory."""
        made = self.flow.producer(self.extract, 0) if self.extract is not None else None
        return any(_is_row_part(self.flow, part) for part in _addends(self.flow, made))


def _is_ranged(flow: Flow, op: IrOp, operand: int) -> bool:
    return any(isinstance(p, IrOp) and p.name == "tt.make_range" for p in flow.slice_back(op, operand))


def _addends(flow: Flow, made: Producer | None) -> Iterator[tuple[IrOp, int]]:
    if isinstance(made, IrOp):
        if made.name == "arith.addi":
            for i in range(len(made.operands)):
                inner = flow.producer(made, i)
                yield (made, i)
                yield from _addends(flow, inner)
        elif made.name in {"arith.extsi", "arith.index_cast", "tt.broadcast"}:
            yield from _addends(flow, flow.producer(made, 0))


def _is_row_part(flow: Flow, part: tuple[IrOp, int]) -> bool:
    names = {p.name for p in flow.slice_back(*part) if isinstance(p, IrOp)}
    return "tt.make_range" in names and "tt.expand_dims" in names and "tt.load" not in names and not names & _DIVISIONS


def splits(subject: Subject) -> Iterator[Split]:
    """Yield the accesses that the adapter split, each outermost loop once."""
    for snapshot in subject.compilation.snapshots:
        if snapshot.pass_argument == UNSTRUCTURE:
            for flow in flows(snapshot):
                yield from _in_function(flow, snapshot)


def _in_function(flow: Flow, snapshot: Snapshot) -> Iterator[Split]:
    for loop in flow.ops:
        if MARK in loop.attributes and not any(MARK in p.attributes for p in flow.parents(loop)):
            access = next((op for op in loop.walk() if op.name in _ACCESSES), None)
            if access is not None:
                yield Split(flow, snapshot, loop, access, _extract(flow, access))


def _extract(flow: Flow, access: IrOp) -> IrOp | None:
    """Return the extraction of the element's offset from the tensor of offsets."""
    for made in flow.slice_back(access, 0):
        if isinstance(made, IrOp) and made.name in {"tensor.extract", "tensor.extract_slice"}:
            return made
        if isinstance(made, Argument):
            continue
    return None


def depth(split: Split) -> int:
    """Count the nested loops over elements."""
    return sum(MARK in op.attributes for op in split.loop.walk())


def split_structures(symptom: str, subject: Subject, belongs: Callable[[Split], bool]) -> list[Structure]:
    """Return one structure a line for the split accesses that belong to a symptom and survive to the last IR."""
    final = subject.compilation.hivm
    if final is None:
        return []
    kept = {line_of(op) for flow in flows(final) for op in flow.ops if MARK in op.attributes}
    found: dict[int | None, Structure] = {}
    for split in splits(subject):
        line = line_of(split.loop)
        if line not in found and line in kept and belongs(split):
            found[line] = structure(
                symptom, _shown(split), Origin(UNSTRUCTURE, split.snapshot.position), "adapter", line=line
            )
    return list(found.values())


def _shown(split: Split) -> list[IrOp]:
    """Show what made the offsets irregular, the loop, the element's offset and its access."""
    telling = [p for p in split.offsets() if isinstance(p, IrOp) and p.name in _DIVISIONS | {"tt.load", "arith.subi"}]
    return [*telling[:2], split.loop, *([split.extract] if split.extract is not None else []), split.access]

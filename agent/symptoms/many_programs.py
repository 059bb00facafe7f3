"""Far more programs than cores, each with little to do."""

from __future__ import annotations

import re

from agent.records import Structure
from agent.symptoms.access import transfers
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.origin import Origin, structure
from agent.symptoms.structure import device_functions
from indexer.ir.records import IrOp, Snapshot

_COUNT = re.compile(r'"(CUBE_CORE_COUNT|VECTOR_CORE_COUNT)", (\d+)')
# A program costs 0.031 us of serial dispatch (the predicted cost's constant); it is worth telling when a core is given
# at least this many of them and none moves more than a core's transfer takes in that time, about 16 KiB per transfer.
_ROUNDS = 8
_LITTLE_BYTES = 64 * 1024


def _detect(subject: Subject) -> list[Structure]:
    final = subject.compilation.hivm
    if final is None:
        return []
    cores, programs = _cores(subject, final), subject.launch.programs
    if not cores or programs < _ROUNDS * cores or _bytes_per_program(subject) > _LITTLE_BYTES:
        return []
    shown = [op for f in device_functions(final) for op in f.walk() if op.name == "hivm.hir.get_block_idx"][:1]
    weight = 1 - cores / programs
    # The launch makes it, no pass: the line is the kernel's own.
    return [structure("many_programs", shown, Origin(None, None), line=_kernel_line(final), weight=weight)]


def _bytes_per_program(subject: Subject) -> int:
    """Return what one program moves, taking each loop for many rounds."""
    moved = list(transfers(subject))
    if any(t.flow.loops(t.op) for t in moved):
        return _LITTLE_BYTES + 1
    return sum(t.gm.bytes for t in moved)


def _cores(subject: Subject, final: Snapshot) -> int:
    """Return the cores that programs are spread over: the cube cores when one function runs there."""
    snapshots = subject.compilation.snapshots
    text = next(
        (s.module_attributes[k] for s in snapshots for k in s.module_attributes if "target_system_spec" in k), ""
    )
    counts = {name: int(number) for name, number in _COUNT.findall(text)}
    uses_cube = any("AIC" in f.attributes.get("hivm.func_core_type", "") for f in device_functions(final))
    return counts.get("CUBE_CORE_COUNT" if uses_cube else "VECTOR_CORE_COUNT", 0)


def _kernel_line(final: Snapshot) -> int | None:
    entry: list[IrOp] = [f for f in device_functions(final) if "hacc.entry" in f.attributes]
    return next((f.place.line for f in entry if f.place is not None), None)


def _counterfactual(_subject: Subject, _structure: Structure) -> Variant | None:
    """None: the grid is the host's; a kernel for fewer programs is a rewrite and no small edit."""
    return None


MANY_PROGRAMS = Symptom(
    id="many_programs",
    archs=frozenset({"a3", "a5"}),
    rung="pattern",
    share="launch",
    passes=(),
    ops=("hivm.hir.get_block_idx",),
    query="number of blocks programs grid larger than core count logical block num auto blockify loop over blocks",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"launch"}),
)

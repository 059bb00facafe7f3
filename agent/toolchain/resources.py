"""The plan of the on-chip memories, read from the module after `hivm-plan-memory`, and the limits it was made for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agent.records import BufferPlan, Resources
from agent.toolchain.targets import Target
from indexer.ir.brackets import closing
from indexer.ir.places import Places
from indexer.ir.records import IrOp, Snapshot
from indexer.ir.types import memref

PLANNER = "hivm-plan-memory"
_PLANNED = "hivm.hir.pointer_cast"
_UNPLANNED = "memref.alloc"
_SPACE = re.compile(r"#hivm\.address_space<(ub|cbuf|cc)>")
_INTEGER = re.compile(r"-?\d+")
_SIZE_KEYS = {"ub": "UB_SIZE", "cbuf": "L1_SIZE", "cc": "L0C_SIZE"}
# Sizes of planned buffers are rounded up to these (NPUTargetSpec.td:64-73 at AscendNPU-IR@8796a8ac, in bits there).
_ALIGN_BYTES = {"ub": 32, "cbuf": 32, "cc": 512}


def planned_buffers(snapshots: Sequence[Snapshot]) -> tuple[BufferPlan, ...] | None:
    """Return the buffers of the last plan among `snapshots`, None where no on-chip plan came."""
    for snapshot in reversed(snapshots):
        if snapshot.pass_argument == PLANNER:
            buffers = tuple(_buffers(snapshot.functions, _PLANNED))
            if buffers:
                return buffers
    return None


def wanted_buffers(snapshot: Snapshot) -> tuple[BufferPlan, ...]:
    """Return the on-chip buffers that a module asks for before a plan: their offsets are 0."""
    return tuple(_buffers(snapshot.functions, _UNPLANNED))


def largest(buffers: Iterable[BufferPlan], space: str) -> BufferPlan | None:
    """Return the largest buffer in `space`; one with a line before one without."""
    inside = [b for b in buffers if b.space == space]
    return max(inside, key=lambda b: (b.line is not None, b.bytes * b.copies), default=None)


def read_memory_record(folder: Path, user_file: str) -> tuple[BufferPlan, ...]:
    """Read what `--enable-memory-display` of the A2/A3 compiler left in `folder`, failed plans included."""
    places = Places({}, user_file)
    buffers: list[BufferPlan] = []
    for path in sorted(folder.glob("memory_info_*.json")):
        for record in json.loads(path.read_text(encoding="utf-8"))["Record"]:
            for entry in record.get("memory_info_array") or ():
                location = entry["source_location"].strip()
                place = places.resolve(location[4 : closing(location, 3) - 1]) if location.startswith("loc(") else None
                offsets = entry["offset"] or [0]
                line = place.line if place else None
                kind = entry["buffer"].partition(" loc(")[0].rpartition("-> ")[2]
                space = record["scope"]
                size = _aligned(entry["extent"] // 8, space)
                buffers.append(BufferPlan(space, size, max(offsets), len(offsets), line, kind))
    return tuple(buffers)


def stated_limits(attributes: Mapping[str, str], target: Target) -> dict[str, int]:
    """Return the limits in bytes that the module itself carries, by space; the target's where it carries none."""
    spec = attributes.get("dlti.target_system_spec", "")
    known = {"ub": target.ub_bytes, "cbuf": target.l1_bytes, "cc": target.l0c_bytes}
    for space, key in _SIZE_KEYS.items():
        found = re.search(rf'"{key}", (\d+)', spec)
        if found:
            known[space] = int(found[1]) // 8
    return known


def sum_up(buffers: tuple[BufferPlan, ...] | None, limits: Mapping[str, int]) -> Resources:
    """Return the peak use of each memory; None in each where no plan came."""

    def peak(space: str) -> int | None:
        if buffers is None:
            return None
        return max((b.offset_bytes + b.bytes for b in buffers if b.space == space), default=0)

    return Resources(
        ub_bytes=peak("ub"), ub_limit_bytes=limits["ub"], l1_bytes=peak("cbuf"), l1_limit_bytes=limits["cbuf"],
        l0c_bytes=peak("cc"), l0c_limit_bytes=limits["cc"], buffers=buffers or (),
    )  # fmt: skip


def memref_bytes(kind: str) -> int | None:
    """Return the bytes that a memref type spans (`memref<4x8xf32, strided<[16, 1]>>` spans 224), None if dynamic."""
    found = memref(kind)
    return None if found is None else found.span_bytes


def _aligned(size: int, space: str) -> int:
    align = _ALIGN_BYTES[space]
    return -(-size // align) * align


def _buffers(functions: Mapping[str, IrOp], name: str) -> Iterator[BufferPlan]:
    for function in functions.values():
        constants = {}
        for op in function.walk():
            if op.name == "arith.constant":
                found = _INTEGER.match(op.attributes.get("value", ""))
                if found:
                    constants[op.results[0].name] = int(found[0])
            elif op.name == name:
                buffer = _buffer(op, constants)
                if buffer is not None:
                    yield buffer


def _buffer(op: IrOp, constants: Mapping[str, int]) -> BufferPlan | None:
    kind = op.results[0].type
    space = _SPACE.search(kind)
    size = memref_bytes(kind)
    if not space or size is None:
        return None
    line = op.place.line if op.place else None
    offsets = [constants[v.name] for v in op.operands if v.type == "i64" and v.name in constants] or [0]
    return BufferPlan(space[1], _aligned(size, space[1]), max(offsets), len(offsets), line, kind)

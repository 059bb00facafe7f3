"""What one operation does to the machine, once the views it works on are known: op -> events."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from math import prod

from agent.perf.arithmetic import Value
from agent.perf.events import Access, Cube, Event, Scalar, Sync, Transfer, Vector
from agent.perf.flags import OWN_FLAGS, EventIds
from agent.perf.memref import MemRef
from agent.perf.vectors import BLOCK_BYTES, count_work, describe_register, describe_vector, works_on_registers
from indexer.ir.records import IrOp

_L1 = "cbuf"
FRACTAL = 16  # side of a cube step (AscendNPU-IR@8796a8ac:bishengir/include/bishengir/Dialect/Utils/Util.h:45)

_SYNC = frozenset({
    "set_flag", "wait_flag", "pipe_barrier", "sync_block_set", "sync_block_wait", "sync_block", "sync_block_lock",
    "sync_block_unlock",
})  # fmt: skip
# Views, declarations and modes: no unit of the machine works for them.
_FREE_HIR = frozenset({
    "pointer_cast", "bitcast", "get_block_idx", "get_block_num", "get_sub_block_idx", "get_sub_block_num", "anchor",
    "set_mask_norm", "set_ctrl", "set_ffts_base_addr", "create_sync_block_lock", "convert_layout", "get_sys_cnt",
    "annotation", "debug", "init_debug", "finish_debug", "dcci",
})  # fmt: skip
_FREE = frozenset({
    "arith.constant", "arith.index_cast", "arith.index_castui", "arith.bitcast", "annotation.mark", "scf.yield",
    "scf.condition", "func.return", "builtin.unrealized_conversion_cast", "memref.alloc", "memref.alloca",
    "memref.dealloc", "memref.dim", "memref.assume_alignment", "memref.memory_space_cast", "memref.transpose",
    "memref.extract_aligned_pointer_as_index", "memref.extract_strided_metadata", "vector.constant_mask",
    "vector.create_mask", "ub.poison", "affine.yield",
})  # fmt: skip
_ACCESSES = frozenset({"memref.load", "memref.store", "affine.load", "affine.store"})
_SCALAR_DIALECTS = ("arith.", "affine.", "index.", "math.", "memref.", "llvm.")


_PIPE = re.compile(r"PIPE_(\w+)")
_EVENT = re.compile(r"(?:EVENT_ID)?(\d+)")

Describer = Callable[[Sequence[Value]], Sequence[Event]]
_Rule = Callable[[IrOp, str, Sequence[Value], int | None], Sequence[Event]]


def plan_events(op: IrOp, flags: Sequence[EventIds] = ()) -> Describer | Sequence[Event]:
    """Return the events of `op`, or how to tell them once the values of its operands are known.

    `flags` are the event numbers that its operands may have. An operation without a rule is still counted, with `known`
    False.
    """
    line = op.place.line if op.place is not None else None
    if op.name in _FREE:
        return ()
    dialect, _, name = op.name.partition(".")
    if works_on_registers(op):
        return describe_register(op, line)
    if dialect in {"hivm", "hfusion", "ave"}:
        return _plan_hivm(op, name.removeprefix("hir."), line, flags)
    if op.name in _ACCESSES:
        return lambda operands: _describe_access(op, operands, line)
    if op.name == "memref.copy":
        return lambda operands: _describe_transfer(op, "copy", operands, line)
    if op.name.startswith("memref."):  # a view at a computed place takes an address calculation
        return (Scalar(op.name, line),) if op.results and any(o.type == "index" for o in op.operands) else ()
    return (Scalar(op.name, line, known=op.name.startswith(_SCALAR_DIALECTS)),)


def _plan_hivm(op: IrOp, name: str, line: int | None, flags: Sequence[EventIds]) -> Describer | Sequence[Event]:
    if name in _FREE_HIR:
        return ()
    if name in _SYNC:
        return (_describe_sync(op, name, line, flags[0] if flags else ()),)
    if "mmad" in name.lower():
        before, after = _cube_flags(line, flags)
        return lambda operands: (*before, _describe_cube(op, operands, line), *after)
    if not any(operand.type.startswith("memref<") for operand in op.operands):
        return (Scalar(op.name, line, known=False),)
    return lambda operands: _describe_hivm(op, name, operands, line)


def _describe_sync(op: IrOp, name: str, line: int | None, ids: EventIds) -> Sync:
    """Describe a flag or barrier; `ids` are the event numbers that its operand may have, else its own is read."""
    # A signal between cores is raised when `tpipe` has come so far, and holds up `pipe` of the other core.
    names = ("tpipe", "pipe") if "tpipe" in op.attributes else ("set_pipe", "wait_pipe")
    first = _PIPE.search(op.attributes.get(names[0], "") or op.attributes.get("pipe", ""))
    second = _PIPE.search(op.attributes.get(names[1], ""))
    own = _EVENT.search(op.attributes.get("static_event_id", "") or op.attributes.get("static_flag_id", ""))
    return Sync(
        name, line, first[1] if first else "", second[1] if second else "", ids or ((int(own[1]),) if own else ())
    )


def _cube_flags(line: int | None, flags: Sequence[EventIds]) -> tuple[tuple[Sync, ...], tuple[Sync, ...]]:
    """Return the flags that a multiply waits for before, and raises after, it reads its tiles from L1."""
    before = tuple(Sync("wait_flag", line, "MTE2", "MTE1", ids) for ids in flags[:2] if ids)
    return before, tuple(Sync("set_flag", line, "MTE1", "MTE2", ids) for ids in flags[2:OWN_FLAGS] if ids)


def _describe_hivm(op: IrOp, name: str, operands: Sequence[Value], line: int | None) -> Sequence[Event]:
    views = [value for value in operands if isinstance(value, MemRef)]
    if not views:
        return (Scalar(op.name, line, known=False),)
    rule = _TRANSFERS.get(name)
    on_chip_copy = name == "copy" and all(view.space == "ub" for view in views)
    if rule is None or on_chip_copy:
        # What fills L1 is a DMA too: no vector unit reaches it.
        moves = any(view.space in {"gm", _L1} for view in views)
        rule = _describe_transfer if moves else describe_vector
    return rule(op, name, operands, line)


def _describe_transfer(op: IrOp, name: str, operands: Sequence[Value], line: int | None) -> Sequence[Event]:
    views = [value for value in operands if isinstance(value, MemRef)]
    source, target = views[0], views[1] if len(views) > 1 else views[0]
    outside = next((view for view in (source, target) if view.space == "gm"), None)
    shown = outside or target
    # nd2nz and fixpipe change the layout on the way: only the GM side has rows.
    sides = (shown,) if name in {"nd2nz", "fixpipe"} else (source, target)
    write = target is outside if outside is not None else target.space == _L1
    atomic = "atomic" in name or "atomic_kind" in op.attributes
    events: list[Event] = [
        Transfer(
            name, line, shown.base if outside else "", shown.bytes, max(side.pieces for side in sides),
            shown.run * shown.bits // 8, shown.pitch_bytes, write, atomic=atomic,
        )
    ]  # fmt: skip
    if op.attributes.get("init_out_buffer") == "true" and target.space == "ub":
        events.append(Vector("vbrc", line, *count_work(target)))
    return events


def _describe_atomic(_op: IrOp, name: str, operands: Sequence[Value], line: int | None) -> Sequence[Event]:
    views = [value for value in operands if isinstance(value, MemRef)]
    outside = next((view for view in views if view.space == "gm"), views[-1])
    return (
        Transfer(
            name, line, outside.base, outside.bytes, max(view.pieces for view in views),
            outside.run * outside.bits // 8, outside.pitch_bytes, write=True, atomic=True,
        ),
    )  # fmt: skip


def _describe_access(op: IrOp, operands: Sequence[Value], line: int | None) -> Sequence[Event]:
    view = next((value for value in operands if isinstance(value, MemRef)), None)
    write = op.name.endswith("store")
    if view is None:
        return (Access("ub", line, "", 0, write),)
    space = "gm" if view.space == "gm" else "ub"
    return (Access(space, line, view.base, max(view.bits // 8, 1), write),)


def _describe_cube(op: IrOp, operands: Sequence[Value], line: int | None) -> Event:
    """Count 16 x 16 x 32 byte steps; where the true m, k, n are not known, from the three tiles' sizes."""
    views = [value for value in operands if isinstance(value, MemRef)]
    bits = views[0].bits if views else FRACTAL
    depth = BLOCK_BYTES * 8 // bits
    given = [v for v, shown in zip(operands, op.operands, strict=True) if shown.type == "index"][:3]
    sizes = [v for v in given if isinstance(v, int)]
    if len(sizes) == len("mkn"):
        m, k, n = sizes
        return Cube(line, -(-m // FRACTAL) * -(-k // depth) * -(-n // FRACTAL), bits)
    volume = math.sqrt(prod(view.elements for view in views[:3]))
    return Cube(line, math.ceil(volume / (FRACTAL * FRACTAL * depth)), bits)


_TRANSFERS: dict[str, _Rule] = {
    "load": _describe_transfer,
    "store": _describe_transfer,
    "nd2nz": _describe_transfer,
    "fixpipe": _describe_transfer,
    "copy": _describe_transfer,
    "atomic_rmw": _describe_atomic,
    "atomic_cas": _describe_atomic,
    "atomic_xchg": _describe_atomic,
}

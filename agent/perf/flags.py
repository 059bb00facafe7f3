"""Which event numbers a flag may have: read from constants, also where the copies of a buffer take turns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from agent.perf.arithmetic import read_constant
from agent.perf.views import read_array
from indexer.ir.records import IrOp

# The end of an affine map that counts round: (s0 floordiv 64) mod 2.
_TURNS = re.compile(r"mod (\d+)\)\s*>?$")
_UNROLLED = "multibuffer_unroll_factor"
EventIds = tuple[int, ...]
_FLAGS = frozenset({"hivm.hir.set_flag", "hivm.hir.wait_flag"})
_SIGNALS = frozenset({"hivm.hir.sync_block_set", "hivm.hir.sync_block_wait"})  # between cube and vector cores
_THROUGH = frozenset({"arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci"})
_DEPTH = 16  # selects and casts between a flag and its constants: one a copy of the buffer, and some casts
# Operands of a matrix multiply: a, b, condition, m, k, n, c, then the flags of its own
# (AscendNPU-IR@8796a8ac:bishengir/include/bishengir/Dialect/HIVM/IR/HIVMMacroOps.td:63-80).
_SYNC_SEGMENT = 7
# Of these flags: two to wait for (L1 tiles of a and b are there), two to raise (they are free again), and others inside
# (AscendNPU-IR@8796a8ac:bishengir/lib/Dialect/HIVM/Transforms/GraphSyncSolver/SyncSolverCodeGen.cpp:635-645).
OWN_FLAGS = 4


def find_event_ids(functions: Iterable[IrOp]) -> dict[int, tuple[EventIds, ...]]:
    """Return, by the identity of each flag operation and multiply, the event numbers of its flags."""
    found: dict[int, tuple[EventIds, ...]] = {}
    for function in functions:
        ops = list(function.walk())
        makers = {result.name: op for op in ops for result in op.results}
        makers |= {op.regions[0][0].arguments[0].name: op for op in ops if _UNROLLED in op.attributes}
        for op in ops:
            names = flag_operands(op)
            if names:
                found[id(op)] = tuple(tuple(sorted(_values(name, makers, _DEPTH))) for name in names)
    return found


def flag_operands(op: IrOp) -> list[str]:
    """Return the operands of `op` that are event numbers."""
    if op.name in _FLAGS:
        return [operand.name for operand in op.operands]
    if op.name in _SIGNALS:  # the number comes first where it is no constant, then the base address of all signals
        return [] if "static_flag_id" in op.attributes else [operand.name for operand in op.operands[:1]]
    if "mmad" not in op.name:
        return []
    segments = read_array(op.attributes.get("operandSegmentSizes", ""))
    if len(segments) <= _SYNC_SEGMENT:
        return []
    first = sum(segments[:_SYNC_SEGMENT])
    return [o.name for o in op.operands[first : first + segments[_SYNC_SEGMENT]]][:OWN_FLAGS]


def _values(name: str, makers: Mapping[str, IrOp], depth: int) -> set[int]:
    """Return the constants that may reach `name`; none where something else may."""
    op = makers.get(name)
    if op is None or depth == 0:
        return set()
    if op.name == "arith.constant":
        value = read_constant(op.attributes.get("value", ""))
        return {value} if isinstance(value, int) and value >= 0 else set()
    if _UNROLLED in op.attributes:  # the counter of a loop over the copies of a buffer
        return set(range(int(op.attributes[_UNROLLED].partition(" ")[0])))
    if op.results[0].type == "i1":
        return {0, 1}
    if op.name == "affine.apply":  # the iteration modulo the copies of a buffer
        turns = _TURNS.search(op.attributes.get("map", ""))
        return set(range(int(turns[1]))) if turns else set()
    if op.name == "arith.select":
        return _values(op.operands[1].name, makers, depth - 1) | _values(op.operands[2].name, makers, depth - 1)
    if op.name in _THROUGH:
        return _values(op.operands[0].name, makers, depth - 1)
    return set()

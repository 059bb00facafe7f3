"""The predicted profile of a launch beside its time: bytes wasted, roofline, memories filled, cores that wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from agent.perf.chip import gm_events
from agent.perf.constants import Constants
from agent.perf.events import Access, Cube, Register, Tally, Transfer, Vector
from agent.perf.launch import SUB_BLOCKS, WORKSPACE, Followed, entries_of
from agent.perf.memref import element_bits
from agent.perf.occupancy import follow_occupancy
from agent.perf.playing import Played
from agent.perf.records import Profile, Roofline
from agent.perf.vectors import BLOCK_BYTES, REGISTER_BITS, REPEAT_BYTES
from agent.records import Compilation
from agent.toolchain.targets import Target

if TYPE_CHECKING:
    from agent.perf.predict import Timed

_FLOAT_BYTES = 4  # how wide lanes are taken to be where an operation on UB does not say
_STEP = 2 * 16 * 16 * BLOCK_BYTES * 8  # multiplies and additions of a cube step, times the bits of an element
_MOVES = ("vload", "store", "broadcast", "pge")  # register instructions that compute nothing


def make_profile(
    compilation: Compilation,
    target: Target,
    timed: Timed,
    by_line: Mapping[int | None, float],
    constants: Constants,
    kind: str,
) -> Profile:
    """Return the profile of a launch that is timed; `by_line` is the predicted time of each line."""
    moved, useful = count_bytes(timed.followed)
    limits = {"ub": target.ub_bytes, "l1": target.l1_bytes, "l0c": target.l0c_bytes}
    functions = entries_of(compilation.hivm) if compilation.hivm is not None else []
    return Profile(
        kind, round(moved), round(useful), follow_occupancy(functions, limits, by_line),
        place_under_roof(timed, target, constants), _waits(timed.played),
    )  # fmt: skip


def count_bytes(followed: Followed) -> tuple[float, float]:
    """Return the bytes that pass between cores and global memory, and those of them that the kernel asked for.

    Memory gives and takes whole blocks; what passes through the compiler's workspace, nobody asked for.
    """
    moved = useful = 0.0
    for event, count in gm_events(followed):
        moved += _blocks(event) * count
        useful += event.bytes * count if event.base != WORKSPACE else 0
    return moved, useful


def _blocks(event: Transfer | Access) -> float:
    """Return the bytes of the blocks that a transfer touches; pieces closer than a block share it."""
    run = event.run_bytes if isinstance(event, Transfer) else event.bytes
    if not run:
        return event.bytes
    whole = -(-run // BLOCK_BYTES) * BLOCK_BYTES
    pitch = abs(event.pitch_bytes or whole) if isinstance(event, Transfer) else whole
    return event.bytes / run * max(run, min(whole, pitch))


def place_under_roof(timed: Timed, target: Target, constants: Constants) -> Roofline | None:
    """Return the point under the roof; None for a launch that computes, or moves, nothing.

    The roof is that of HBM, over the bytes that come from there or go there; of L2 where it holds everything.
    """
    cube, vector, bits = _operations(timed.followed)
    of_hbm = timed.traffic.read + timed.traffic.written
    moved, bandwidth = (
        (of_hbm, constants.hbm_read_bytes_per_us) if of_hbm else (timed.traffic.passed, constants.l2_bytes_per_us)
    )
    if not moved or not (cube or vector):
        return None
    factor = constants.cube_fp32_factor if bits == _FLOAT_BYTES * 8 else 1
    peaks = {
        "cube": _STEP / bits / (constants.cube_step_us * factor) * target.cube_cores,
        "vector": REPEAT_BYTES / _FLOAT_BYTES / constants.vector_repeat_us * target.vector_cores,
    }
    unit = "cube" if cube else "vector"
    operations = cube or vector
    per_byte = operations / moved
    return Roofline(
        unit,
        operations,
        per_byte,
        operations / timed.us,
        min(peaks[unit], per_byte * bandwidth),
        peaks[unit],
        bandwidth,
    )


def _operations(followed: Followed) -> tuple[float, float, int]:
    """Return operations of cube and vector cores over all programs, and the width of what the cube multiplies."""
    cube = vector = 0.0
    bits = 16
    for tally, times in _tallies(followed):
        for event, count in tally:
            match event:
                case Cube():
                    bits = event.bits
                    cube += event.steps * _STEP / event.bits * count * times
                case Vector():
                    vector += event.repeats * REPEAT_BYTES / _FLOAT_BYTES * count * times
                case Register() if not any(word in event.op for word in _MOVES):
                    vector += event.registers * REGISTER_BITS / max(element_bits(event.element), 1) * count * times
    return cube, vector, bits


def _tallies(followed: Followed) -> Iterator[tuple[Tally, float]]:
    each = followed.programs / len(followed.blocks)
    for block in followed.blocks:
        yield block.cube, each
        yield block.vector, each * (SUB_BLOCKS if followed.cube else 1)


def _waits(played: Sequence[Played]) -> dict[str, float]:
    waits: dict[str, float] = {}
    for program in played:
        for core, time in program.waited.items():
            waits[core] = waits.get(core, 0.0) + time / len(played)
    return waits

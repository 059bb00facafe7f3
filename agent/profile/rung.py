"""The profile rung's words: what limits a kernel, measured or predicted, and what that alone allows to say."""

from __future__ import annotations

import statistics

from agent.profile.records import KernelProfile
from agent.records import Cost, Launch
from agent.toolchain.cuda_targets import CudaTarget
from agent.toolchain.targets import Device
from indexer.messages import Message, message

# Limiters whose remedy the profile alone tells; the others are a question to the next rung.
_REMEDIES = frozenset({"imbalance", "launch", "sync"})
# Limiters that larger tiles help with while UB has room: fewer programs, and longer transfers.
_TILED = frozenset({"launch", "load", "store"})
_SMALL = 0.25  # of UB


def say_predicted(cost: Cost, launch: Launch | None, target: Device) -> Message:
    """Say what limits a kernel by prediction, and on which line."""
    share = cost.terms.get(cost.limiter, 0.0) / cost.value if cost.value else 0.0
    return message(
        "ladder.profile", limiter=message(f"ladder.limiter_{cost.limiter}"), share=round(100 * share),
        line=costliest_line(cost), next=_next(cost.limiter, launch, target, cost),
    )  # fmt: skip


def say_measured(seen: KernelProfile, cost: Cost | None, launch: Launch | None, target: Device) -> Message:
    """Say what limits a kernel as measured; the line is that which costs most by prediction, files name none."""
    line = costliest_line(cost) if cost is not None else 0
    if not seen.limiter:
        return message("ladder.profile_time_only", tool=seen.tool, line=line)
    key = "ladder.profile_uneven" if seen.limiter == "imbalance" and seen.core_us else "ladder.profile_measured"
    return message(
        key, tool=seen.tool, limiter=message(f"ladder.limiter_{seen.limiter}"), line=line,
        busy=round(100 * seen.busy.get(seen.limiter, 0.0)), next=_next(seen.limiter, launch, target, cost),
        longest=f"{max(seen.core_us, default=0.0):.2f}",
        average=f"{statistics.mean(seen.core_us) if seen.core_us else 0.0:.2f}",
    )  # fmt: skip


def costliest_line(cost: Cost) -> int:
    """Return the user's line that costs most, 0 where none is known."""
    lines = {line: time for line, time in cost.by_line.items() if line is not None}
    return max(lines, key=lambda line: lines[line], default=0)


def _next(limiter: str, launch: Launch | None, target: Device, cost: Cost | None) -> Message:
    """Return the remedy where the profile alone localises it, else the next rung's question.

    It does so for the grid against the cores, the last wave of programs, and the tile against UB.
    """
    least, cores = _cores(target)
    programs = launch.programs if launch is not None else 0
    if programs and programs < least and limiter not in _REMEDIES:
        return message("ladder.next_few_programs", programs=programs, cores=cores)
    profile = cost.profile if cost is not None else None
    at_once = least if profile is not None and profile.kind == "cube" else cores
    if limiter == "imbalance" and programs > at_once and programs % at_once:
        return message("ladder.next_tail", programs=programs, cores=at_once, last=programs % at_once)
    filled = [o for o in profile.occupancy if o.memory == "ub"] if profile is not None else []
    if limiter in _TILED and programs > at_once and filled and filled[0].peak.bytes < _SMALL * filled[0].limit_bytes:
        share = round(100 * filled[0].peak.bytes / filled[0].limit_bytes)
        return message("ladder.next_small_tile", share=share, programs=programs, cores=at_once)
    return message(f"ladder.next_{limiter}", cores=cores)


def _cores(target: Device) -> tuple[int, int]:
    """Return the programs that leave no core idle, and the cores there are."""
    if isinstance(target, CudaTarget):
        return target.multiprocessors, target.multiprocessors
    return target.cube_cores, target.vector_cores

"""The programs of a launch played on their cores: how long each takes, and what it waits for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.perf.constants import Constants
from agent.perf.critical import critical_events
from agent.perf.events import Event, Tally
from agent.perf.launch import Block, Followed
from agent.perf.pricing import Pricing
from agent.perf.timeline import Machine, Span

Core = str  # "cube" or "vector"


@dataclass(frozen=True, slots=True)
class Played:
    """One program: its microseconds on a core, the time on its critical path by event, and the work of each pipe."""

    index: int
    us: float
    path: Mapping[Event, float]
    busy: Mapping[tuple[Core, str], float]


def play_programs(followed: Followed, constants: Constants, missed: Mapping[tuple[str, bool], float]) -> list[Played]:
    """Play each program that was followed; programs that do the same are played once."""
    prices = {"cube": Pricing(constants, cube=True, missed=missed), "vector": Pricing(constants, missed=missed)}
    known: list[tuple[Block, Played]] = []
    played: list[Played] = []
    for block in followed.blocks:
        twin = next((p for b, p in known if b.cube == block.cube and b.vector == block.vector), None)
        if twin is None:
            twin = _play_block(block, prices, constants)
            known.append((block, twin))
        played.append(Played(block.index, twin.us, twin.path, twin.busy))
    return played


def _play_block(block: Block, prices: Mapping[Core, Pricing], constants: Constants) -> Played:
    """Play both sides of a program; of a mixed one the shorter side hides behind the longer in part."""
    sides = {core: play(tally, prices[core], constants) for core, tally in _sides(block)}
    longer, shorter = sorted(sides.values(), key=lambda machine: -machine.front.end)
    path: dict[Event, float] = defaultdict(float)
    for machine, weight in ((longer, 1.0), (shorter, constants.mixed_exposed)):
        for event, time in critical_events(machine.front).items():
            path[event] += time * weight
    us = constants.start_us + longer.front.end + constants.mixed_exposed * shorter.front.end
    busy = {(core, pipe): time for core, machine in sides.items() for pipe, time in machine.busy.items() if time}
    return Played(block.index, us, path, busy)


def play(tally: Tally, pricing: Pricing, constants: Constants, *, record: bool = False) -> Machine:
    """Play one side of one program from the start."""
    machine = Machine(pricing.duration, constants.drain_us, record=record)
    machine.play(tally)
    return machine


def record_block(
    block: Block, constants: Constants, missed: Mapping[tuple[str, bool], float]
) -> dict[Core, Sequence[Span]]:
    """Return what a program's pipes do over time, for a picture; loops show their first iterations."""
    return {
        core: play(tally, Pricing(constants, cube=core == "cube", missed=missed), constants, record=True).spans
        for core, tally in _sides(block)
    }


def _sides(block: Block) -> tuple[tuple[Core, Tally], tuple[Core, Tally]]:
    return ("cube", block.cube), ("vector", block.vector)

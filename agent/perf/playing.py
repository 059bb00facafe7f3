"""The programs of a launch played on their cores: how long each takes, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.perf.constants import Constants
from agent.perf.critical import critical_events
from agent.perf.events import Event, Tally
from agent.perf.launch import Block, Followed
from agent.perf.pricing import Pricing
from agent.perf.timeline import Machine, Signals, Span, play_together

Core = Literal["cube", "vector"]
_PEER: Mapping[Core, Core] = {"cube": "vector", "vector": "cube"}


@dataclass(frozen=True, slots=True)
class Played:
    """One program: its microseconds on a core, the time on its critical path by event, and the work of each pipe.

    `waited` is how long each core of a mixed program had nothing to do until a signal of the other came.
    """

    index: int
    us: float
    path: Mapping[Event, float]
    busy: Mapping[tuple[Core, str], float]
    waited: Mapping[Core, float] = field(default_factory=dict)


def play_programs(followed: Followed, constants: Constants, missed: Mapping[tuple[str, bool], float]) -> list[Played]:
    """Play each program that was followed; programs that do the same are played once."""
    known: list[tuple[Block, Played]] = []
    played: list[Played] = []
    for block in followed.blocks:
        twin = next((p for b, p in known if b.cube == block.cube and b.vector == block.vector), None)
        if twin is None:
            twin = _play_block(block, constants, missed)
            known.append((block, twin))
        played.append(Played(block.index, twin.us, twin.path, twin.busy, twin.waited))
    return played


def _play_block(block: Block, constants: Constants, missed: Mapping[tuple[str, bool], float]) -> Played:
    """Play the cores of a program together; it ends with the last of them."""
    machines = play_block(block, constants, missed)
    last = max((machine.front for machine in machines.values()), key=lambda node: node.end)
    busy = {(core, pipe): time for core, machine in machines.items() for pipe, time in machine.busy.items() if time}
    mixed = all(machine.front.end for machine in machines.values())
    waited = {core: machine.waited for core, machine in machines.items()} if mixed else {}
    return Played(block.index, constants.start_us + last.end, critical_events(last), busy, waited)


def play_block(
    block: Block, constants: Constants, missed: Mapping[tuple[str, bool], float], *, record: bool = False
) -> Mapping[Core, Machine]:
    """Play one program from the start, with its cube core and the busier of its vector cores."""
    signals = Signals()
    tallies: dict[Core, Tally] = {"cube": block.cube, "vector": block.vector}
    prices: dict[Core, Pricing] = {core: Pricing(constants, cube=core == "cube", missed=missed) for core in tallies}
    machines = {
        core: Machine(price.duration, price.lag, constants.drain_us, record, core, _PEER[core], signals)
        for core, price in prices.items()
    }
    play_together([(machines[core], tally) for core, tally in tallies.items()])
    return machines


def record_block(
    block: Block, constants: Constants, missed: Mapping[tuple[str, bool], float]
) -> dict[Core, Sequence[Span]]:
    """Return what a program's pipes do over time, for a picture; loops show their first iterations."""
    return {core: machine.spans for core, machine in play_block(block, constants, missed, record=True).items()}

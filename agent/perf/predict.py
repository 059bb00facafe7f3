"""Predicted cost of a compiled launch: the additive model, with its interval, its split and what weakens it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from agent.perf.constants import load_constants
from agent.perf.events import Access, Event, Transfer, mean
from agent.perf.launch import SUB_BLOCKS, Followed, busiest_core, follow_launch
from agent.perf.pricing import TERMS, Pricing
from agent.perf.remarks import collect_remarks
from agent.records import Compilation, Cost, Interval
from agent.toolchain.targets import Target
from indexer.messages import Message


@dataclass(frozen=True, slots=True)
class _Sides:
    """Prices on the cube cores and on the vector cores of one launch."""

    cube: Pricing
    vector: Pricing


def predict(compilation: Compilation, target: Target, *, cold: bool = True) -> Cost:
    """Predict the time of one launch from its final HIVM and its real scalars and grid.

    `cold`: the L2 cache holds nothing at the start (as in the published kernel timings); else it holds all that fits.
    Cube and vector side of a mixed kernel are added: the model credits no overlap of any two units. Raises
    `ValueError` for a compilation without HIVM (a rejected kernel has no cost).
    """
    if compilation.hivm is None:
        raise ValueError(f"no HIVM to predict from: {compilation.launch.kernel} was {compilation.status}")
    constants = load_constants()
    rough = Pricing(constants, target.vector_cores)
    followed = follow_launch(compilation.hivm, compilation.launch, rough.total)
    cores = target.cube_cores if followed.cube else target.vector_cores
    sides = _price_sides(followed, cores, cold=cold)
    priced, queue = _price_launch(followed, sides, cores)
    terms: dict[str, float] = dict.fromkeys(TERMS, 0.0)
    by_line: dict[int | None, float] = defaultdict(float)
    for (event, term), time in priced.items():
        terms[term] += time
        by_line[event.line] += time
    terms["launch"] += queue
    by_line[None] += queue
    value = sum(terms.values())
    moved = _bytes_by_line(followed)
    bytes_moved = sum(moved.values())
    return Cost(
        value=value, basis="predicted",
        interval=Interval(value * constants.interval_low, value * constants.interval_high),
        limiter=max(TERMS, key=lambda term: terms[term]), terms=terms, by_line=dict(by_line), bytes_moved=bytes_moved,
        bytes_by_line=moved, baseline_us=bytes_moved / constants.hbm_bytes_per_us + constants.launch_us,
        remarks=collect_remarks(followed, target, _by_event(priced), constants, cold=cold),
    )  # fmt: skip


def sum_costs(costs: Sequence[Cost]) -> Cost:
    """Add the costs of the launches of one run; raises `ValueError` for none, or for different bases."""
    bases = {cost.basis for cost in costs}
    if len(bases) != 1:
        raise ValueError(f"costs of one basis can be added, got {sorted(bases) or 'none'}")
    terms: dict[str, float] = defaultdict(float)
    by_line: dict[int | None, float] = defaultdict(float)
    moved: dict[int | None, int] = defaultdict(int)
    for cost in costs:
        for term, time in cost.terms.items():
            terms[term] += time
        for line, time in cost.by_line.items():
            by_line[line] += time
        for line, size in cost.bytes_by_line.items():
            moved[line] += size
    remarks = _distinct([note for cost in costs for note in cost.remarks])
    baselines = [cost.baseline_us for cost in costs if cost.baseline_us is not None]
    return Cost(
        value=sum(cost.value for cost in costs), basis=costs[0].basis,
        interval=Interval(sum(c.interval.low for c in costs), sum(c.interval.high for c in costs)),
        limiter=max(terms, key=lambda term: terms[term]) if terms else costs[0].limiter,
        terms=dict(terms), by_line=dict(by_line), bytes_moved=sum(cost.bytes_moved for cost in costs),
        bytes_by_line=dict(moved),
        baseline_us=sum(baselines) if len(baselines) == len(costs) else None, remarks=remarks,
    )  # fmt: skip


def _price_sides(followed: Followed, cores: int, *, cold: bool) -> _Sides:
    active = max(min(followed.programs, cores), 1)
    shares = _hbm_shares(followed, cold=cold)
    constants = load_constants()
    vector_active = active * (SUB_BLOCKS if followed.cube else 1)
    return _Sides(
        Pricing(constants, active, cube=True, from_hbm=shares),
        Pricing(constants, vector_active, cube=False, from_hbm=shares),
    )


def _hbm_shares(followed: Followed, *, cold: bool) -> dict[tuple[str, bool], float]:
    """Return the share of each tensor's traffic that must come from HBM: its bytes once, the rest is met in L2."""
    moved: dict[tuple[str, bool], float] = defaultdict(float)
    for block in followed.blocks:
        for tally, cores in ((block.cube, 1), (block.vector, SUB_BLOCKS if followed.cube else 1)):
            for event, count in tally:
                if isinstance(event, Transfer | Access) and event.base:
                    moved[event.base, event.write] += event.bytes * count * cores
    scale = followed.programs / len(followed.blocks)
    fits = sum(followed.footprint.values()) <= load_constants().l2_bytes
    shares: dict[tuple[str, bool], float] = {}
    for (base, write), bytes_moved in moved.items():
        size = followed.footprint.get(base)
        once = 0.0 if not cold and fits else bytes_moved if size is None else size / scale
        shares[base, write] = min(1.0, once / bytes_moved) if bytes_moved else 1.0
    return shares


def _price_launch(followed: Followed, sides: _Sides, cores: int) -> tuple[dict[tuple[Event, str], float], float]:
    """Return the time by (event, term) on the busiest core, and what launching the programs adds to it."""
    constants = load_constants()
    times = [(b.index, sides.cube.total(b.cube) + sides.vector.total(b.vector)) for b in followed.blocks]
    average = sum(time for _, time in times) / len(times)
    work = busiest_core(times, followed.programs, cores)
    scale = work / average if average else 0.0
    priced: dict[tuple[Event, str], float] = defaultdict(float)
    for pricing, blocks in (
        (sides.cube, [b.cube for b in followed.blocks]),
        (sides.vector, [b.vector for b in followed.blocks]),
    ):
        for event, count in mean(blocks):
            term, time = pricing.price(event)
            priced[event, term] += time * count * scale
    dispatch = constants.program_us * min(followed.programs, cores)
    queue = max(0.0, constants.program_us * followed.programs - work)
    return priced, constants.launch_us + dispatch + queue


def _bytes_by_line(followed: Followed) -> dict[int | None, int]:
    """Return the bytes between the chip and GM, what L2 serves included, by the line that moves them."""
    totals: dict[int | None, float] = defaultdict(float)
    for tallies, cores in (
        ([b.cube for b in followed.blocks], 1),
        ([b.vector for b in followed.blocks], SUB_BLOCKS if followed.cube else 1),
    ):
        for event, count in mean(tallies):
            if isinstance(event, Transfer | Access) and event.base:
                totals[event.line] += cores * event.bytes * count * followed.programs
    return {line: math.ceil(round(total, 3)) for line, total in totals.items()}


def _by_event(priced: dict[tuple[Event, str], float]) -> dict[Event, float]:
    times: dict[Event, float] = defaultdict(float)
    for (event, _), time in priced.items():
        times[event] += time
    return times


def _distinct(notes: Sequence[Message]) -> tuple[Message, ...]:
    kept: list[Message] = []
    for note in notes:
        if note not in kept:
            kept.append(note)
    return tuple(kept)

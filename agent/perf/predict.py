"""Predicted cost of a compiled launch: programs on a timeline, spread over the cores, within what memory can give."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.perf.chip import Bounds, Traffic, bound_launch, gm_events, measure_traffic, missed_by_cores
from agent.perf.constants import Constants, load_constants
from agent.perf.events import Event
from agent.perf.experience import interval_of, kind_of, say_experience
from agent.perf.launch import Followed, busiest_core, follow_launch
from agent.perf.playing import Played, play_programs
from agent.perf.pricing import TERMS, Pricing, term_of
from agent.perf.profile import make_profile
from agent.perf.remarks import collect_remarks, tells_doubt
from agent.records import Compilation, Cost, Interval
from agent.toolchain.targets import Target
from indexer.messages import Message


@dataclass(frozen=True, slots=True)
class Timed:
    """A launch on a timeline: its programs, what bounds them, and the time they take together."""

    followed: Followed
    played: Sequence[Played]
    traffic: Traffic
    bounds: Bounds
    cores: int
    body_us: float
    us: float


def follow(compilation: Compilation) -> Followed:
    """Follow the programs of a compiled launch; raises `ValueError` for a rejected one, which has no cost."""
    if compilation.hivm is None:
        raise ValueError(f"no HIVM to predict from: {compilation.launch.kernel} was {compilation.status}")
    return follow_launch(compilation.hivm, compilation.launch, Pricing(load_constants()).total)


def time_launch(followed: Followed, target: Target, constants: Constants, *, cold: bool) -> Timed:
    """Time a launch: one wave of programs after another on the cores, against what HBM, L2 and the dispatch allow."""
    cores = target.cube_cores if followed.cube else target.vector_cores
    traffic = measure_traffic(followed, constants, cold=cold)
    missed = missed_by_cores(traffic, min(followed.programs, cores), constants)
    played = play_programs(followed, constants, missed)
    work = busiest_core([(p.index, p.us) for p in played], followed.programs, cores)
    bounds = bound_launch(work, followed.programs, traffic, constants)
    body = bounds.together(constants.bound_power)
    us = constants.launch_us + constants.program_us * min(followed.programs, cores) + body
    return Timed(followed, played, traffic, bounds, cores, body, us)


def predict(compilation: Compilation, target: Target, *, cold: bool = True, constants: Constants | None = None) -> Cost:
    """Predict the time of one launch from its final HIVM and its real scalars and grid.

    `cold`: the L2 cache holds nothing at the start (as in the published kernel timings); else it holds all that fits.
    Raises `ValueError` for a compilation without HIVM (a rejected kernel has no cost).
    """
    constants = constants or load_constants()
    followed = follow(compilation)
    timed = time_launch(followed, target, constants, cold=cold)
    events, terms = _split(timed, constants)
    by_line: dict[int | None, float] = defaultdict(float)
    for event, time in events.items():
        by_line[None if event is None else event.line] += time
    # What every launch costs is nobody's limit: only the programs' share of launching is compared.
    limiter = max(TERMS, key=lambda term: terms[term] - (constants.launch_us if term == "launch" else 0.0))
    on_path = {event: time for event, time in events.items() if event is not None}
    remarks = collect_remarks(followed, target, on_path, constants, cold=cold)
    kind = kind_of(followed, terms, timed.us)
    moved = _bytes_by_line(followed)
    profile = make_profile(compilation, target, timed, by_line, constants, kind)
    return Cost(
        value=timed.us, basis="predicted", interval=interval_of(timed.us, kind, in_doubt=tells_doubt(remarks)),
        limiter=limiter, terms=terms, by_line=dict(by_line), bytes_moved=sum(moved.values()), bytes_by_line=moved,
        baseline_us=sum(moved.values()) / constants.baseline_bytes_per_us + constants.baseline_launch_us,
        remarks=(*remarks, say_experience(kind)), pipes=_busy_pipes(timed.played),
        profile=profile,
    )  # fmt: skip


def sum_costs(costs: Sequence[Cost]) -> Cost:
    """Add the costs of the launches of one run; raises `ValueError` for none, or for different bases."""
    bases = {cost.basis for cost in costs}
    if len(bases) != 1:
        raise ValueError(f"costs of one basis can be added, got {sorted(bases) or 'none'}")
    terms: dict[str, float] = defaultdict(float)
    by_line: dict[int | None, float] = defaultdict(float)
    moved: dict[int | None, int] = defaultdict(int)
    limiters: dict[str, float] = defaultdict(float)
    for cost in costs:
        limiters[cost.limiter] += cost.value
        for term, time in cost.terms.items():
            terms[term] += time
        for line, time in cost.by_line.items():
            by_line[line] += time
        for line, size in cost.bytes_by_line.items():
            moved[line] += size
    pipes: dict[str, float] = defaultdict(float)
    for cost in costs:
        for pipe, share in cost.pipes.items():
            pipes[pipe] += share * cost.value / (sum(c.value for c in costs) or 1.0)
    remarks = _distinct([note for cost in costs for note in cost.remarks])
    baselines = [cost.baseline_us for cost in costs if cost.baseline_us is not None]
    return Cost(
        value=sum(cost.value for cost in costs), basis=costs[0].basis,
        interval=Interval(sum(c.interval.low for c in costs), sum(c.interval.high for c in costs)),
        limiter=max(limiters, key=lambda limiter: limiters[limiter]),
        terms=dict(terms), by_line=dict(by_line), bytes_moved=sum(cost.bytes_moved for cost in costs),
        bytes_by_line=dict(moved),
        baseline_us=sum(baselines) if len(baselines) == len(costs) else None, remarks=remarks, pipes=dict(pipes),
        profile=max(costs, key=lambda cost: cost.value).profile,
    )  # fmt: skip


def _split(timed: Timed, constants: Constants) -> tuple[dict[Event | None, float], dict[str, float]]:
    """Split the time by event (None: launching) and by term; both sum to the whole.

    What the cores take is split as on the critical path of their programs, what memory takes by bytes.
    """
    terms: dict[str, float] = dict.fromkeys(TERMS, 0.0)
    events: dict[Event | None, float] = defaultdict(float)
    work, hbm, l2, dispatch = (share * timed.body_us for share in timed.bounds.shares(constants.bound_power))
    path, average = _mean_path(timed.played)
    even = average * timed.followed.programs / timed.cores if timed.followed.programs > timed.cores else average
    busy = min(1.0, even / timed.bounds.work) if timed.bounds.work else 1.0
    for event, time in path.items():
        part = time / average * work
        events[event] += part
        terms["launch" if event is None else term_of(event)] += part * busy
    terms["imbalance"] += work * (1 - busy)
    for event, part in _by_bytes(timed, hbm, l2).items():
        events[event] += part
        terms[term_of(event)] += part
    launch = timed.us - timed.body_us + dispatch
    events[None] += launch
    terms["launch"] += launch
    return events, terms


def _mean_path(played: Sequence[Played]) -> tuple[dict[Event | None, float], float]:
    """Return the average program's time by event on its critical path (None: to start it), and their sum."""
    path: dict[Event | None, float] = defaultdict(float)
    for program in played:
        for event, time in program.path.items():
            path[event] += time / len(played)
    average = sum(program.us for program in played) / len(played)
    path[None] += average - sum(path.values())
    return path, average


def _busy_pipes(played: Sequence[Played]) -> dict[str, float]:
    """Return the share of the programs' time in which each pipe works; a mixed program has some pipes twice."""
    total = sum(program.us for program in played) or 1.0
    busy: dict[str, float] = defaultdict(float)
    for program in played:
        for (core, pipe), time in program.busy.items():
            busy[f"{core} {pipe}"] += time / total
    return dict(busy)


def _by_bytes(timed: Timed, hbm: float, l2: float) -> Mapping[Event, float]:
    """Split what the shared memories take by the bytes that each event moves there."""
    parts: dict[Event, float] = defaultdict(float)
    traffic, bounds = timed.traffic, timed.bounds
    both = bounds.hbm_read + bounds.hbm_write
    for event, count in gm_events(timed.followed):
        total = event.bytes * count
        of_hbm, met = (bounds.hbm_write, traffic.written) if event.write else (bounds.hbm_read, traffic.read)
        if both and met:
            parts[event] += hbm * of_hbm / both * total * traffic.missed[event.base, event.write] / met
        parts[event] += l2 * total / traffic.passed
    return parts


def _bytes_by_line(followed: Followed) -> dict[int | None, int]:
    """Return the bytes between the chip and GM, what L2 serves included, by the line that moves them."""
    totals: dict[int | None, float] = defaultdict(float)
    for event, count in gm_events(followed):
        totals[event.line] += event.bytes * count
    return {line: math.ceil(round(total, 3)) for line, total in totals.items()}


def _distinct(notes: Sequence[Message]) -> tuple[Message, ...]:
    kept: list[Message] = []
    for note in notes:
        if note not in kept:
            kept.append(note)
    return tuple(kept)

"""The critical path through a timeline: each step with the one that it waited for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from agent.perf.events import Event


@dataclass(frozen=True, slots=True)
class Jump:
    """Iterations that were not played: they take what the stretch from `low` to `high` before them did."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A step on a pipe from `start` to `end`, and what it waited for, which ended when this began."""

    end: float
    start: float
    event: Event | Jump | None
    before: Node | None


def latest(nodes: Iterable[Node]) -> Node:
    """Return the node that ends last, the first of equals."""
    return max(nodes, key=lambda node: node.end)


def critical_events(front: Node) -> dict[Event, float]:
    """Return the time of each event on the path that leads to `front`; their sum is the path's length."""
    return _collect(front, 0.0)


def _collect(node: Node | None, low: float) -> dict[Event, float]:
    """Walk back from `node` to the time `low`."""
    times: dict[Event, float] = defaultdict(float)
    while node is not None and node.end > low:
        length = node.end - max(node.start, low)
        if isinstance(node.event, Jump):
            for event, time in _like(node, node.event).items():
                times[event] += time * length
        elif node.event is not None:
            times[node.event] += length
        node = node.before
    return times


def _like(node: Node, jump: Jump) -> dict[Event, float]:
    """Return the shares of events in the stretch that a jump repeats."""
    inside = _collect(node.before, jump.low)
    total = sum(inside.values())
    return {event: time / total for event, time in inside.items()} if total else {}

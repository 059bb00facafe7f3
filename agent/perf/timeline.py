"""A program played on the pipes of its core: each in order, side by side, held up by flags and barriers."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.perf.critical import Jump, Node, latest
from agent.perf.events import Access, Cube, Event, Scalar, Sync, Tally, Transfer

PIPES = ("S", "MTE2", "MTE1", "MTE3", "V", "M", "FIX")
_ALL = "ALL"  # pipes of a barrier
# A loop is played this often; the last iterations of it, one period, tell how long the others take. Two make a period,
# because the copies of a double buffer take turns.
_PLAYED, _PERIOD = 4, 2
_FIXPIPE = "fixpipe"


def pipe_of(event: Event) -> str:
    """Return the pipe that works for `event`; the scalar unit also issues what the others do."""
    match event:
        case Transfer():
            if event.op == _FIXPIPE:
                return "FIX"
            if not event.base:
                return "V"  # a copy within UB
            return "MTE3" if event.write else "MTE2"
        case Cube():
            return "M"
        case Scalar() | Access() | Sync():
            return "S"
    return "V"


_Marks = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Span:
    """One event on its pipe, in microseconds from the start of the program."""

    pipe: str
    event: Event
    start: float
    end: float


@dataclass(slots=True)
class Machine:
    """The pipes of one core: when each is done and why, how long it worked, and the flags raised and not yet awaited.

    `duration` tells how long an event occupies its pipe; `drain_us` is what a barrier of one pipe waits for the last
    instruction to leave it. With `record` every event that is played leaves a span.
    """

    duration: Callable[[Event], float]
    drain_us: float
    record: bool = False
    last: dict[str, Node] = field(default_factory=lambda: dict.fromkeys(PIPES, Node(0.0, 0.0, None, None)))
    busy: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PIPES, 0.0))
    raised: dict[tuple[str, str, int], deque[Node]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    @property
    def front(self) -> Node:
        """Return what ends last, with all that it waited for behind it."""
        return latest(self.last.values())

    def play(self, tally: Tally) -> None:
        """Play everything that `tally` holds once, in order."""
        for item, count in tally.order:
            if isinstance(item, Tally):
                self._repeat(item, count)
            elif isinstance(item, Scalar):
                self._work("S", item, count * self.duration(item))
            else:
                for _ in range(math.ceil(count)):
                    self._step(item)

    def _repeat(self, tally: Tally, times: float) -> None:
        """Play a loop's body a few times and add the rest, on each pipe at its pace in the last ones."""
        whole = min(math.ceil(times), _PLAYED)
        marks = [self._mark()]
        for _ in range(whole):
            self.play(tally)
            marks.append(self._mark())
        left = times - whole  # negative for a part of an iteration, which an interpolation gives
        if not left:
            return
        period = _PERIOD if whole == _PLAYED else 1
        before, after = marks[-1 - period], marks[-1]
        self._advance(marks[0], before, after, left / period)
        for pipe in PIPES:
            self.busy[pipe] += (after[pipe][1] - before[pipe][1]) / period * left

    def _mark(self) -> dict[str, tuple[float, float]]:
        """Return when each pipe is done, and how long it has worked."""
        return {pipe: (self.last[pipe].end, self.busy[pipe]) for pipe in PIPES}

    def _advance(self, entry: _Marks, before: _Marks, after: _Marks, periods: float) -> None:
        """Move each pipe on by so many of its last periods, and with it the flags that it raised in the loop."""
        moved: dict[tuple[str, int], Node] = {}

        def move(pipe: str, node: Node) -> Node:
            low, high = before[pipe][0], after[pipe][0]
            if high == low or node.end <= entry[pipe][0]:
                return node
            key = (pipe, id(node))
            if key not in moved:
                moved[key] = Node(node.end + (high - low) * periods, node.end, Jump(low, high), node)
            return moved[key]

        self.last = {pipe: move(pipe, node) for pipe, node in self.last.items()}
        done: set[int] = set()
        for (pipe, _, _), waiting in self.raised.items():
            if id(waiting) not in done:
                done.add(id(waiting))
                for index, node in enumerate(waiting):
                    waiting[index] = move(pipe, node)

    def _step(self, event: Event) -> None:
        if isinstance(event, Sync):
            self._synchronise(event)
        else:
            self._work(pipe_of(event), event, self.duration(event))

    def _work(self, pipe: str, event: Event, duration: float) -> None:
        before = latest((self.last[pipe], self.last["S"]))
        self.last[pipe] = Node(before.end + duration, before.end, event, before)
        self.busy[pipe] += duration
        if self.record and duration:
            self.spans.append(Span(pipe, event, before.end, before.end + duration))

    def _synchronise(self, event: Sync) -> None:
        self._work("S", event, self.duration(event))
        match event.op:
            case "set_flag" if event.first in self.last:
                self._flag(event).append(latest((self.last[event.first], self.last["S"])))
            case "wait_flag" if event.second in self.last:
                waiting = self._flag(event)
                if waiting:
                    self.last[event.second] = latest((self.last[event.second], waiting.popleft()))
            case "pipe_barrier" if event.first == _ALL:
                self.last = dict.fromkeys(PIPES, self.front)
            case "pipe_barrier" if event.first in self.last:
                self._work(event.first, event, self.drain_us)

    def _flag(self, event: Sync) -> deque[Node]:
        """Return the raised flags that this one takes turns with, in the order they were raised."""
        keys = [(event.first, event.second, number) for number in event.ids or (-1,)]
        found = {id(self.raised[key]): self.raised[key] for key in keys if key in self.raised}
        kept = list(found.values())
        own = kept[0] if len(kept) == 1 else deque(sorted((n for q in kept for n in q), key=lambda node: node.end))
        for key, other in self.raised.items():
            if id(other) in found:
                self.raised[key] = own
        for key in keys:
            self.raised[key] = own
        return own

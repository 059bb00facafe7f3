"""A program on the pipes of its cores: each in order, side by side, held up by flags, barriers and signals."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from agent.perf.critical import Jump, Node, latest
from agent.perf.events import FILL, FIXPIPE, Access, Cube, Event, Scalar, Sync, Tally, Transfer

PIPES = ("S", "MTE2", "MTE1", "MTE3", "V", "M", "FIX")
_ALL = "ALL"  # pipes of a barrier
# A loop is played this often; the last iterations of it, one period, tell how long the others take. Two make a period,
# because the copies of a double buffer take turns.
_PLAYED, _PERIOD = 4, 2
_WAIT_SIGNAL = "sync_block_wait"
_DONE = object()


def pipe_of(event: Event) -> str:
    """Return the pipe that works for `event`; the scalar unit also issues what the others do."""
    match event:
        case Transfer():
            if event.op == FIXPIPE:
                return "FIX"
            if event.op == FILL:
                return "MTE2"
            if event.write:
                return "MTE3"
            return "MTE2" if event.base else "V"  # a copy within UB
        case Cube():
            return "M"
        case Scalar() | Access() | Sync():
            return "S"
    return "V"


_Marks = dict[str, tuple[float, float]]
_Raised = dict[tuple[str, str, int], deque[Node]]  # by the pipe that raises, the pipe that is held up, and the number


@dataclass(frozen=True, slots=True)
class Span:
    """One event on its pipe, in microseconds from the start of the program."""

    pipe: str
    event: Event
    start: float
    end: float


@dataclass(slots=True)
class Signals:
    """Signals between the cores of one program, raised and not yet awaited, by the core that raised them.

    `posted` counts them; `stuck` tells a core to go on without the one that it waits for, as none will come.
    """

    raised: dict[str, _Raised] = field(default_factory=dict)
    posted: int = 0
    stuck: bool = False


@dataclass(slots=True)
class Machine:
    """The pipes of one core: when each is done and why, how long it worked, and the flags raised and not yet awaited.

    `duration` tells how long an event occupies its pipe, `lag` how much later its data are there; `drain_us` is what a
    barrier of one pipe waits for the last instruction to leave it. With `record` every event that is played leaves a
    span. `peer` is the core that signals come from, `waited` how long this one had nothing to do until they came.
    """

    duration: Callable[[Event], float]
    lag: Callable[[Event], float]
    drain_us: float
    record: bool = False
    core: str = ""
    peer: str = ""
    signals: Signals = field(default_factory=Signals)
    waited: float = 0.0
    last: dict[str, Node] = field(default_factory=lambda: dict.fromkeys(PIPES, Node(0.0, 0.0, None, None)))
    busy: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PIPES, 0.0))
    arrived: dict[str, Node] = field(default_factory=dict)  # what a pipe moved and is not there when the pipe is done
    raised: _Raised = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    @property
    def front(self) -> Node:
        """Return what ends last, with all that it waited for behind it."""
        return latest((*self.last.values(), *self.arrived.values()))

    def _done(self, pipe: str) -> Node:
        """Return what ends last of the pipe's own, with the data that it waits for."""
        return latest((self.last[pipe], self.arrived.get(pipe, self.last[pipe])))

    def play(self, tally: Tally) -> Iterator[None]:
        """Play everything that `tally` holds once, in order; yields where a signal of the peer has not come yet."""
        for item, count in tally.order:
            if isinstance(item, Tally):
                yield from self._repeat(item, count)
            elif isinstance(item, Scalar):
                self._work("S", item, count * self.duration(item))
            elif isinstance(item, Sync):
                for _ in range(math.ceil(count)):
                    if item.op == _WAIT_SIGNAL:
                        yield from self._await(item)
                    self._synchronise(item)
            else:
                for _ in range(math.ceil(count)):
                    self._work(pipe_of(item), item, self.duration(item))

    def _await(self, event: Sync) -> Iterator[None]:
        while not _queue(self._of_peer, event):
            if self.signals.stuck:
                self.signals.stuck = False
                return
            yield

    @property
    def _of_peer(self) -> _Raised:
        return self.signals.raised.setdefault(self.peer, {})

    def _repeat(self, tally: Tally, times: float) -> Iterator[None]:
        """Play a loop's body a few times and add the rest, on each pipe at its pace in the last ones."""
        whole = min(math.ceil(times), _PLAYED)
        marks, waits = [self._mark()], [self.waited]
        for _ in range(whole):
            yield from self.play(tally)
            marks.append(self._mark())
            waits.append(self.waited)
        left = times - whole  # negative for a part of an iteration, which an interpolation gives
        if not left:
            return
        period = _PERIOD if whole == _PLAYED else 1
        before, after = marks[-1 - period], marks[-1]
        self._advance(marks[0], before, after, left / period)
        self.waited += (waits[-1] - waits[-1 - period]) / period * left
        for pipe in PIPES:
            self.busy[pipe] += (after[pipe][1] - before[pipe][1]) / period * left

    def _mark(self) -> dict[str, tuple[float, float]]:
        """Return when each pipe is done, and how long it has worked."""
        return {pipe: (self.last[pipe].end, self.busy[pipe]) for pipe in PIPES}

    def _advance(self, entry: _Marks, before: _Marks, after: _Marks, periods: float) -> None:
        """Move each pipe on by so many of its last periods, and with it the flags that it raised in the loop.

        Not its signals: the other core plays as many iterations of its own loop, and meets those of the ones played.
        """
        moved: dict[tuple[str, int], Node] = {}
        # A pipe that fills its buffers at first is not slower than the whole for long.
        working = [pipe for pipe in PIPES if after[pipe][0] > entry[pipe][0]]
        whole = max((after[p][0] for p in working), default=0.0) - max((before[p][0] for p in working), default=0.0)

        def move(pipe: str, node: Node) -> Node:
            low, high = before[pipe][0], min(after[pipe][0], before[pipe][0] + whole)
            if high == low or node.end <= entry[pipe][0]:
                return node
            key = (pipe, id(node))
            if key not in moved:
                moved[key] = Node(node.end + (high - low) * periods, node.end, Jump(low, high), node)
            return moved[key]

        self.last = {pipe: move(pipe, node) for pipe, node in self.last.items()}
        self.arrived = {pipe: move(pipe, node) for pipe, node in self.arrived.items()}
        done: set[int] = set()
        for (pipe, _, _), waiting in self.raised.items():
            if id(waiting) not in done:
                done.add(id(waiting))
                for index, node in enumerate(waiting):
                    waiting[index] = move(pipe, node)

    def _work(self, pipe: str, event: Event, duration: float) -> None:
        # A multiply brings its tiles from L1 itself, step by step: both pipes are its own until it is done.
        taken = (pipe, "MTE1") if isinstance(event, Cube) else (pipe,)
        before = latest(self.last[name] for name in (*taken, "S"))
        node = Node(before.end + duration, before.end, event, before)
        for name in taken:
            self.last[name] = node
        lag = self.lag(event)
        if lag:
            there = Node(node.end + lag, node.end, event, node)
            self.arrived[pipe] = latest((self.arrived.get(pipe, there), there))
        self.busy[pipe] += duration
        if self.record and duration:
            self.spans.append(Span(pipe, event, before.end, before.end + duration))

    def _synchronise(self, event: Sync) -> None:
        self._work("S", event, self.duration(event))
        match event.op:
            case "set_flag" if event.first in self.last:
                _queue(self.raised, event).append(latest((self._done(event.first), self.last["S"])))
            case "wait_flag" if event.second in self.last:
                self._hold(event.second, _queue(self.raised, event))
            case "sync_block_set" if event.first in self.last:
                own = self.signals.raised.setdefault(self.core, {})
                _queue(own, event).append(latest((self._done(event.first), self.last["S"])))
                self.signals.posted += 1
            case "sync_block_wait" if event.second in self.last:
                # The scalar unit runs ahead of the others: a core waits from when none of its pipes works any more.
                done = self.front.end
                self._hold(event.second, _queue(self._of_peer, event))
                self.waited += max(0.0, self.last[event.second].end - done)
            case "pipe_barrier" if event.first == _ALL:
                self.last = dict.fromkeys(PIPES, self.front)
            case "pipe_barrier" if event.first in self.last:
                self.last[event.first] = self._done(event.first)
                self._work(event.first, event, self.drain_us)

    def _hold(self, pipe: str, waiting: deque[Node]) -> None:
        """Let `pipe` wait for the flag that was raised first, if there is one."""
        if waiting:
            self.last[pipe] = latest((self.last[pipe], waiting.popleft()))


def _queue(raised: _Raised, event: Sync) -> deque[Node]:
    """Return the raised flags that this one takes turns with, in the order they were raised."""
    keys = [(event.first, event.second, number) for number in event.ids or (-1,)]
    found = {id(raised[key]): raised[key] for key in keys if key in raised}
    kept = list(found.values())
    own = kept[0] if len(kept) == 1 else deque(sorted((n for q in kept for n in q), key=lambda node: node.end))
    for key, other in raised.items():
        if id(other) in found:
            raised[key] = own
    for key in keys:
        raised[key] = own
    return own


def play_together(parts: Sequence[tuple[Machine, Tally]]) -> None:
    """Play the cores of one program side by side: each goes on until it needs a signal that the other has not raised.

    The machines share their signals. Where none can go on, a signal that nobody raises is no reason to wait.
    """
    running = [machine.play(tally) for machine, tally in parts]
    signals = parts[0][0].signals
    while running:
        before = signals.posted
        running = [steps for steps in running if next(steps, _DONE) is not _DONE]
        signals.stuck = signals.posted == before

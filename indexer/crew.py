"""Who does the work of a build: this process, others on this machine, or a Ray cluster. The result is the same.

Work is a function that can be pickled, and parts of its input; results come in the order of the parts. Helpers never
outlive the process that hired them, also where it is killed.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context, parent_process
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from indexer.errors import BadInput, StoreError
from indexer.messages import PACKAGES

T = TypeVar("T")
R = TypeVar("R")

# Forked from one that has these loaded, a helper starts in no time; threads, which chromadb has, cannot be forked.
_LOADED = ("indexer.reading", "indexer.naming", "indexer.wordings", "indexer.chroma", "indexer.vectors")
# Under way at once for each helper, so that none waits for the next part.
AHEAD = 2
RAY = "ray"


@dataclass(frozen=True, slots=True)
class Spent:
    """What helpers of this machine took: the most memory that they may have held together, and processor seconds."""

    peak_mib: int = 0
    seconds: float = 0.0


class Crew(Protocol):
    """Helpers, who are let go by `close`."""

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Yield `work(part)` for each part, in order; raises what the work raises."""
        ...

    def close(self) -> Spent:
        """Let the helpers go, with what they are at; return what they took together."""
        ...


class Alone:
    """This process does it."""

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Yield `work(part)` for each part."""
        return map(work, parts)

    def close(self) -> Spent:
        """Do nothing."""
        return Spent()


class Processes:
    """Processes of this machine."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._helpers: list[Helper] = []  # started when there is work for them
        self._idle: SimpleQueue[Helper] = SimpleQueue()
        self._pool = ThreadPoolExecutor(count)

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Yield `work(part)` for each part, in order; raises what the work raises, `StoreError` for a dead helper."""
        while len(self._helpers) < self._count:
            self._helpers.append(Helper())
            self._idle.put(self._helpers[-1])
        begun = ahead(lambda part: self._pool.submit(self._do, work, part), parts, AHEAD * self._count)
        return (future.result() for future in begun)

    def close(self) -> Spent:
        """End the helpers, whatever they are at; return what they took together."""
        for helper in self._helpers:
            helper.close()
        self._pool.shutdown(cancel_futures=True)
        spent = spent_by(self._helpers)
        self._helpers.clear()
        return spent

    def _do(self, work: Callable[[T], R], part: T) -> R:
        helper = self._idle.get()
        try:
            return helper.do(work, part)
        finally:
            self._idle.put(helper)


def ahead(start: Callable[[T], R], parts: Iterable[T], most: int) -> Iterator[R]:
    """Start the work on each part and yield what it started, in order; at most so many are under way."""
    begun: deque[R] = deque()
    for part in parts:
        begun.append(start(part))
        if len(begun) >= most:
            yield begun.popleft()
    yield from begun


def check_jobs(jobs: str) -> str:
    """Return what `--jobs` says: nothing, a number of processes, `ray`, or the address of a cluster's Ray client."""
    if jobs in {"", RAY} or jobs.startswith("ray://") or (jobs.isdecimal() and int(jobs) > 0):
        return jobs
    raise BadInput("index.bad_jobs", jobs=jobs)


def hire(jobs: str) -> Crew:
    """Return the helpers that `--jobs` names; without it one for each core.

    Raises `BadInput` for another word, or where Ray is not installed, and `StoreError` for a cluster that is not there.
    """
    if check_jobs(jobs).startswith(RAY):
        from indexer.crew_ray import RayCrew  # noqa: PLC0415 - Ray is an extra, and large

        return RayCrew(jobs)
    count = int(jobs) if jobs else cores()
    return Processes(count) if count > 1 else Alone()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_ready() -> None:
    """Begin to load what helpers need, beside what this process does meanwhile."""
    from multiprocessing import forkserver, resource_tracker  # noqa: PLC0415 - only a large build needs it

    _context()
    resource_tracker.ensure_running()  # it unblocks signals where it has to start
    # The server and all that it forks inherit this, so that Ctrl-C finds none of them before it can leave it to us.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Helper:
    """A process of its own, which loads `modules` while it waits for work; it does one thing at a time."""

    def __init__(self, *modules: str) -> None:
        get_ready()
        context = _context()
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, modules), daemon=True)
        self._process.start()
        theirs.close()
        self.peak_mib = 0
        self.seconds = 0.0

    def do(self, work: Callable[..., R], *arguments: Any, tick: Callable[[int], None] | None = None) -> R:
        """Return `work(*arguments)` as done there; where `tick` is given, the work has it as one more argument.

        Raises what the work raises, and `StoreError` when the helper was killed.
        """
        try:
            self._ours.send((work, arguments, tick is not None))
            while (said := self._ours.recv())[0] == "tick" and tick is not None:
                tick(said[1])
        except (EOFError, OSError) as error:
            raise StoreError("index.helper_died") from error
        _, result, failure, self.peak_mib, self.seconds = said
        if failure is not None:
            raise failure
        return result  # type: ignore[no-any-return]

    def close(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.join()


def _serve(pipe: Any, modules: Sequence[str]) -> None:
    _begin()
    for module in modules:
        import_module(module)
    while True:
        work, arguments, ticking = pipe.recv()
        result, failure = None, None
        try:
            result = work(*arguments, lambda count: pipe.send(("tick", count))) if ticking else work(*arguments)
        except Exception as error:  # noqa: BLE001 - it is raised where the work was asked for
            failure = error
        pipe.send(("end", result, failure, peak_mib(), time.process_time()))


def _context() -> Any:
    context = get_context("forkserver")
    # A helper loads the main module again, and with it what that needs.
    ours = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    context.set_forkserver_preload([*_LOADED, *ours])
    return context


def _begin() -> None:
    """Leave Ctrl-C to the process that hired us, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def peak_mib() -> int:
    """Return the most memory that this process held, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 * 1024) if sys.platform == "darwin" else peak // 1024


def spent_by(helpers: Iterable[Helper]) -> Spent:
    """Return what several helpers took."""
    found = [(helper.peak_mib, helper.seconds) for helper in helpers]
    return Spent(sum(peak for peak, _ in found), sum(seconds for _, seconds in found))


class Hired(AbstractContextManager["Hired"]):
    """The helpers that `--jobs` names, for a block at most; what they `spent` is known when they are released."""

    def __init__(self, jobs: str) -> None:
        self.crew: Crew = hire(jobs)
        self.spent = Spent()

    def release(self) -> None:
        """Let them go: what comes then is done here."""
        crew, self.crew = self.crew, Alone()
        if not isinstance(crew, Alone):
            self.spent = crew.close()

    def __exit__(self, *_error: object) -> None:
        self.release()

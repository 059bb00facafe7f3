"""Several tasks at once: in threads, or in processes that stay warm from one task to the next."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from typing import Generic, TypeVar

from indexer.errors import TritonkbError

Task = TypeVar("Task")
Event = TypeVar("Event")
Result = TypeVar("Result")
Work = Callable[[Task, Callable[[Event], None]], Result]

# How often the processes are looked at while nothing is told.
_LOOK_SECONDS = 0.5
# What a process may take to leave its contexts: its worker is killed, its scratch folder removed.
_GRACE_SECONDS = 3.0


Item = TypeVar("Item")
Made = TypeVar("Made")


def in_threads(work: Callable[[Item], Made], items: Iterable[Item]) -> list[Made]:
    """Do the work on each item, one thread a core; results in the items' order.

    For work that mostly waits for other programs. The first error, or Ctrl-C, leaves out what has not begun.
    """
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Failed:
    """A task that ended in an error of ours; the others went on."""

    error: TritonkbError


@dataclass(frozen=True, slots=True)
class _Ended(Generic[Result]):
    """A task's end: its result, or the exception that ends everything."""

    number: int
    outcome: Result | Failed | Exception


@dataclass(frozen=True, slots=True)
class _Told(Generic[Event]):
    """What a task tells on its way."""

    event: Event


def run_apart(
    opening: Callable[[], AbstractContextManager[Work[Task, Event, Result]]],
    tasks: Sequence[Task],
    jobs: int,
    on_event: Callable[[Event], None],
) -> list[Result | Failed]:
    """Run the tasks in `jobs` processes; results in the tasks' order.

    Each process enters `opening()` once and calls the work it gives, `work(task, tell)`, for one task after another;
    what a task tells reaches `on_event` here. Ctrl-C, or an exception that is not ours, ends all of them.
    """
    context = multiprocessing.get_context("spawn")
    waiting: Queue[tuple[int, Task] | None] = context.Queue()
    said: Queue[_Told[Event] | _Ended[Result]] = context.Queue()
    for item in [*enumerate(tasks), *[None] * jobs]:
        waiting.put(item)
    with ExitStack() as stack:
        processes = [context.Process(target=_serve, args=(opening, waiting, said)) for _ in range(jobs)]
        for process in processes:
            process.start()
            stack.callback(_end, process)
        return _collect(said, processes, len(tasks), on_event)


def _collect(
    said: Queue[_Told[Event] | _Ended[Result]],
    processes: Sequence[SpawnProcess],
    count: int,
    on_event: Callable[[Event], None],
) -> list[Result | Failed]:
    results: dict[int, Result | Failed] = {}
    dead = False
    while len(results) < count:
        try:
            item = said.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            # One that died took its task with it; what it said before may still be on its way once.
            if dead:
                raise RuntimeError("a process of ours died") from None
            dead = any(process.exitcode for process in processes) or not any(p.is_alive() for p in processes)
            continue
        if isinstance(item, _Told):
            on_event(item.event)
        elif isinstance(item.outcome, Exception):
            raise item.outcome
        else:
            results[item.number] = item.outcome
    for process in processes:
        process.join()
    return [results[number] for number in range(count)]


def _end(process: SpawnProcess) -> None:
    """End a process so that it can clean up: it has the terminal's Ctrl-C already, or gets one from us."""
    process.join(_GRACE_SECONDS)
    if process.is_alive() and process.pid is not None:
        os.kill(process.pid, signal.SIGINT)
        process.join(_GRACE_SECONDS)
    if process.is_alive():
        process.terminate()
    process.join()


def _serve(
    opening: Callable[[], AbstractContextManager[Work[Task, Event, Result]]],
    waiting: Queue[tuple[int, Task] | None],
    said: Queue[_Told[Event] | _Ended[Result]],
) -> None:
    """Be one of the processes: open once, work until there is no task left."""

    def tell(event: Event) -> None:
        said.put(_Told(event))

    item = waiting.get()
    if item is None:
        return
    try:
        with opening() as work:
            while item is not None:
                said.put(_Ended(item[0], _outcome(work, item[1], tell)))
                item = waiting.get()
    except TritonkbError as error:  # it could not be opened: no task of this process can run
        while item is not None:
            said.put(_Ended(item[0], Failed(error)))
            item = waiting.get()
    except KeyboardInterrupt:  # the parent was interrupted too, and says so
        return


def _outcome(work: Work[Task, Event, Result], task: Task, tell: Callable[[Event], None]) -> Result | Failed | Exception:
    try:
        return work(task, tell)
    except TritonkbError as error:
        return Failed(error)
    except Exception as error:  # noqa: BLE001 - it is raised again where it can be told
        return error

"""Several tasks at once, in real processes."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from agent.jobs import Failed, in_threads, run_apart
from indexer.errors import BadInput


@contextmanager
def opening() -> Iterator[Callable[[int, Callable[[tuple[int, int]], None]], int]]:
    yield square


@contextmanager
def closed() -> Iterator[Callable[[int, Callable[[tuple[int, int]], None]], int]]:
    raise BadInput("app.empty_file", path="shut.py")
    yield square


def square(number: int, tell: Callable[[tuple[int, int]], None]) -> int:
    tell((number, os.getpid()))
    if number < 0:
        raise BadInput("app.empty_file", path=f"{number}.py")
    if number == 0:
        raise ZeroDivisionError("a defect")
    return number * number


def test_results_come_in_order_from_processes_of_their_own() -> None:
    told: list[tuple[int, int]] = []
    assert run_apart(opening, [3, 1, 2], 2, told.append) == [9, 1, 4]
    assert sorted(number for number, _ in told) == [1, 2, 3]
    assert os.getpid() not in {process for _, process in told}


def test_a_task_that_fails_leaves_the_others_and_keeps_its_message() -> None:
    first, second = run_apart(opening, [-7, 5], 2, lambda _: None)
    assert isinstance(first, Failed)
    assert "-7.py" in str(first.error)
    assert first.error.exit_code == 2
    assert second == 25


def test_a_defect_ends_all() -> None:
    with pytest.raises(ZeroDivisionError):
        run_apart(opening, [0, 5], 2, lambda _: None)


def test_what_cannot_be_opened_fails_every_task() -> None:
    ended = run_apart(closed, [1, 2, 3], 2, lambda _: None)
    assert [isinstance(end, Failed) and "shut.py" in str(end.error) for end in ended] == [True] * 3


def test_a_process_serves_several_tasks() -> None:
    told: list[tuple[int, int]] = []
    assert run_apart(opening, [1, 2, 3, 4], 1, told.append) == [1, 4, 9, 16]
    assert len({process for _, process in told}) == 1


def test_threads_work_at_the_same_time_and_results_keep_their_order() -> None:
    together = threading.Barrier(2, timeout=20)

    def meet(number: int) -> int:
        together.wait()
        return -number

    assert in_threads(meet, [3, 1]) == [-3, -1]


def test_an_error_in_a_thread_leaves_out_what_has_not_begun() -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        raise BadInput("app.empty_file", path=f"{number}.py")

    with pytest.raises(BadInput):
        in_threads(work, range(1000))
    assert len(begun) < 1000

"""A program ends whole: in time, or killed with all its children."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.toolchain.programs import CPU_SECONDS, Finished, Program, TimedOut
from indexer.errors import ToolchainError


def start(tmp_path: Path, script: str) -> Program:
    return Program(["sh", "-c", script], cwd=tmp_path, log=tmp_path / "log", env=os.environ)


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().split(")")[1].split()[0] not in {"Z", "X"}


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def child_of(tmp_path: Path) -> int:
    noted = tmp_path / "child"
    assert wait_until(lambda: noted.exists() and noted.read_text().strip() != "")
    return int(noted.read_text())


def test_the_result_has_both_streams_and_the_code(tmp_path):
    with start(tmp_path, "echo out; echo err >&2; exit 3") as program:
        assert program.finish(5) == Finished(3, "out\n", "err\n")


def test_a_signal_is_a_negative_code(tmp_path):
    with start(tmp_path, "kill -SEGV $$") as program:
        outcome = program.finish(5)
    assert isinstance(outcome, Finished)
    assert outcome.returncode == -11


def test_at_the_limit_the_whole_group_is_killed(tmp_path):
    with start(tmp_path, "sleep 60 & echo $! > child; wait") as program:
        child = child_of(tmp_path)
        assert program.finish(0.1) == TimedOut(0.1)
    assert wait_until(lambda: not is_running(child))


def test_leaving_early_kills_it(tmp_path):
    with start(tmp_path, "sleep 60 & echo $! > child; wait"):
        child = child_of(tmp_path)
    assert wait_until(lambda: not is_running(child))


def test_a_missing_program_says_how_to_get_it(tmp_path):
    with pytest.raises(ToolchainError, match="tritonkb toolchain install ascend"):
        Program([tmp_path / "none"], cwd=tmp_path, log=tmp_path, env=os.environ)


def test_the_system_ends_it_in_the_end_even_if_nobody_is_left_to(tmp_path):
    with start(tmp_path, "sleep 0.3; ulimit -t > limit; sh -c 'ulimit -t' > childs") as program:
        assert isinstance(program.finish(5), Finished)
    assert (tmp_path / "limit").read_text().strip() == (tmp_path / "childs").read_text().strip() == str(CPU_SECONDS)

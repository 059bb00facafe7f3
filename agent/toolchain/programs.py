"""Running a compiler: an argument list, a time limit, and its whole process group gone when it ends."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from indexer.errors import ToolchainError

# CPU seconds after which the system ends a compiler: one in an endless loop, as was seen, outlives a tritonkb that was
# killed and could not end it. Far beyond the wall-clock limits, which end it in all other cases.
CPU_SECONDS = 1200


@dataclass(frozen=True, slots=True)
class Finished:
    """The program ended by itself; `returncode` is negative for a signal, which means that it crashed."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The program was killed, with all its children, after `seconds`."""

    seconds: float


Outcome = Finished | TimedOut


class Program:
    """A program that was started; leaving the context kills it, with all its children, if it still runs.

    Its output goes to two files in `log`, so that a talkative program never blocks.
    """

    def __init__(self, arguments: Sequence[str | Path], *, cwd: Path, log: Path, env: Mapping[str, str]) -> None:
        """Start it; raises `ToolchainError` when there is no such program."""
        log.mkdir(parents=True, exist_ok=True)
        self._stdout, self._stderr = log / "stdout", log / "stderr"
        self._started = time.monotonic()
        with self._stdout.open("wb") as out, self._stderr.open("wb") as err:
            try:
                self._process = subprocess.Popen(
                    [str(a) for a in arguments], cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL,
                    stdout=out, stderr=err, start_new_session=True,
                )  # fmt: skip
            except (FileNotFoundError, PermissionError) as error:
                raise ToolchainError("compile.no_program", program=arguments[0]) from error
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))

    def __enter__(self) -> Program:  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._kill()

    def finish(self, seconds: float) -> Outcome:
        """Wait until it ends, at most `seconds` from its start."""
        try:
            code = self._process.wait(max(0.0, self._started + seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._kill()
            return TimedOut(seconds)
        return Finished(code, _read(self._stdout), _read(self._stderr))

    def _kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")

"""How far a build is, on stderr: a bar a stage on a terminal, plain lines elsewhere; with rate and time left."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from agent.cli.output import Output
from indexer.messages import Message, message

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID
    from typing_extensions import Self

# Between two lines of one stage where no bar can move.
LINE_SECONDS = 10.0


class StageProgress:
    """Told of stages on any thread: `progress(stage, done, total)`; a total of 0 opens a stage of unknown length."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._lock = threading.Lock()
        self._view: _Bars | _Lines = _Bars(output) if sys.stderr.isatty() else _Lines(output)

    def __enter__(self) -> Self:
        self._view.open()
        return self

    def __exit__(self, *_error: object) -> None:
        self._view.close()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        with self._lock:
            self._view.show(stage, done, total)


def _title(output: Output, stage: str) -> str:
    return output.text(message("knowledge.stage", stage=message(f"knowledge.stage_{stage}")))


class _Lines:
    """A line when a stage begins, and one now and then while it goes on."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._began: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def open(self) -> None:
        """Begin to show."""

    def close(self) -> None:
        """Take away what moves."""

    def show(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        now = time.monotonic()
        if stage not in self._began:
            self._began[stage] = self._told[stage] = now
            print(_title(self._output, stage), file=sys.stderr, flush=True)
        elif total and now - self._told[stage] >= LINE_SECONDS:
            self._told[stage] = now
            seconds = now - self._began[stage]
            print(f"{_title(self._output, stage)}: {self._rate(done, total, seconds)}", file=sys.stderr, flush=True)

    def _rate(self, done: int, total: int, seconds: float) -> str:
        rate = done / max(seconds, 1e-3)
        left = (total - done) / max(rate, 1e-3)
        values = {"done": done, "total": total, "rate": f"{rate:.0f}", "left": _clock(left)}
        return self._output.text(message("progress.rate", **values))


class _Bars:
    """A bar that moves for each stage; stages that run at the same time stand below each other."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._tasks: dict[str, TaskID] = {}
        self._progress = _bars(output)

    def open(self) -> None:
        """Begin to show."""
        self._progress.start()

    def close(self) -> None:
        """Take away what moves."""
        self._progress.stop()

    def show(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(_title(self._output, stage), total=total or None)
        elif total:
            self._progress.update(self._tasks[stage], completed=done, total=total)


def _bars(output: Output) -> Progress:
    from rich.console import Console  # noqa: PLC0415 - Rich costs 0.1 s
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class Rate(ProgressColumn):
        """Count, rate and time left, in the user's language."""

        def render(self, task: Task) -> Text:
            return Text(_told(output, task))

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), Rate(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _told(output: Output, task: Task) -> str:
    if not task.total:
        return ""
    left = "?" if task.time_remaining is None else _clock(task.time_remaining)
    rate = "?" if task.speed is None else f"{task.speed:.0f}"
    values = {"done": int(task.completed), "total": int(task.total), "rate": rate, "left": left}
    return output.text(message("progress.rate", **values))


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def tell_waiting(output: Output, pid: int, since: str) -> None:
    """Say who writes the index while we wait for it."""
    note: Message = message("progress.waiting", pid=pid, since=since)
    output.progress(note)

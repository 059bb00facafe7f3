"""What the optimise step of the demo takes, by part: `python bench/demo_time.py [FILE.py ...]`.

Goal on two cores: `make demo` under 40 s from the second time on. First the real command is timed as it is; then the
same files are optimised one after the other in this process, and the seconds of each part are added up. CPU seconds can
be compared on a machine that others use too, wall seconds cannot.
"""

from __future__ import annotations

import contextlib
import io
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent import diagnose, loop, workbench
from agent.cli.main import run
from agent.toolchain import client, collect
from agent.verify import builds, check, linalg

EXAMPLES = Path(__file__).parents[1] / "examples"
TARGET = "ascend910b3"
GOAL_SECONDS = 40.0


class Meter:
    """Adds up calls, wall and CPU seconds by part; a part inside another counts in both."""

    def __init__(self) -> None:
        self.parts: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])

    def add(self, part: str, wall: float, cpu: float) -> None:
        """Count one call."""
        for at, amount in enumerate((1, wall, cpu)):
            self.parts[part][at] += amount

    def watch(self, owner: Any, name: str, part: str, *, clock: Callable[[], float] = time.thread_time) -> None:
        """Measure each call of `owner.name` from now on; `clock` tells its CPU seconds."""
        measured = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            wall, cpu = time.monotonic(), clock()
            try:
                return measured(*arguments, **named)
            finally:
                self.add(part, time.monotonic() - wall, clock() - cpu)

        setattr(owner, name, call)

    def watch_jobs(self) -> None:
        """Measure the worker's start and its jobs by kind; their CPU seconds are what the worker tells."""
        ask, start = client.Worker._try, client.Worker._start  # noqa: SLF001 - where one job is one call

        def asked(worker: Any, header: Any, blobs: Any) -> Any:
            wall = time.monotonic()
            reply = ask(worker, header, blobs)
            if reply is not None:
                kind = f"worker: {header['job']} ({reply.status})"
                self.add(kind, time.monotonic() - wall, reply.fields["cpu_seconds"])
            return reply

        def started(worker: Any) -> Any:
            wall = time.monotonic()
            began = start(worker)
            self.add("worker: start", time.monotonic() - wall, began.hello["cpu_seconds"])
            return began

        worker_class: Any = client.Worker
        worker_class._try, worker_class._start = asked, started  # noqa: SLF001

    def print(self) -> None:
        """Print the parts, the dearest first."""
        print(f"{'part':34} {'calls':>6} {'wall s':>8} {'CPU s':>8}")
        for part, (calls, wall, cpu) in sorted(self.parts.items(), key=lambda item: -item[1][2]):
            print(f"{part:34} {calls:6.0f} {wall:8.2f} {cpu:8.2f}")


def children_seconds() -> float:
    """Return the CPU seconds of the processes that ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watch_all(meter: Meter) -> None:
    """Measure every part worth a line."""
    meter.watch_jobs()
    meter.watch(workbench, "compile_ttir", "compilers", clock=children_seconds)
    meter.watch(collect, "_compose", "read IR")
    meter.watch(workbench, "trace", "blame")
    meter.watch(workbench, "predict", "predicted cost")
    for module in (builds, linalg):
        meter.watch(module, "run_tool", "build libraries", clock=children_seconds)
    meter.watch(check, "judge", "compare results")
    meter.watch(loop, "diagnose", "diagnose, evidence included")
    meter.watch(diagnose._Climb, "_evidence", "evidence")  # noqa: SLF001 - a part of diagnosing
    meter.watch(loop.Optimizer, "_has_offers", "look for rewrites")


def time_command(files: list[str]) -> None:
    """Time `tritonkb optimize` as `make demo` runs it; the workers' CPU seconds stay in their sandbox, unseen by us."""
    before, began = children_seconds(), time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        command = ["tritonkb", "optimize", *files, "--target", TARGET, "--out", out]
        program = Path(sys.executable).with_name(command[0])
        subprocess.run([program, *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, cpu = time.monotonic() - began, children_seconds() - before
    print(
        f"tritonkb optimize, {len(files)} files: {wall:.1f} s wall (goal {GOAL_SECONDS:.0f}), {cpu:.1f} s CPU + workers"
    )


def time_parts(files: list[str]) -> None:
    """Optimise the files in this process and print what each part took."""
    meter = Meter()
    watch_all(meter)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as out:
        for file in files:
            with contextlib.redirect_stdout(io.StringIO()):
                run(["optimize", file, "--target", TARGET, "--json", "--out", str(Path(out, Path(file).stem))])
    meter.add("this process, parts included", 0.0, time.process_time() - began)
    meter.print()


def main() -> int:
    """Time the command, then its parts."""
    files = sys.argv[1:] or sorted(map(str, EXAMPLES.glob("*.py")))
    time_command(files)
    time_parts(files)
    return 0


if __name__ == "__main__":
    sys.exit(main())

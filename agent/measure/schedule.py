"""Runs a bundle: jobs in fresh processes, within a time budget; what is done stays done when it is started again."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .plan import RESULTS, Kernel, Plan, file_digest, read_plan, read_results, seal
from .summary import summary

# A job that has not ended by then never will.
_JOB_SECONDS = 240.0
# Jobs under way at the end of the bundle's time may go on for this long.
_GRACE_SECONDS = 30.0
# A candidate may take its process with it (a bad address ends the device's context): the search goes on without it.
_ATTEMPTS = 4
# Each holds some GB of the device's memory.
_MOST_JOBS = 14


@dataclass
class Running:
    """A job under way."""

    name: str
    process: subprocess.Popen[bytes]
    out: Path
    started: float


def main() -> int:
    """Run the bundle in the current folder."""
    parser = argparse.ArgumentParser(description="Measure the candidates of this bundle on the device of this machine.")
    parser.add_argument(
        "--seconds",
        type=float,
        default=480.0,
        help="start no job after this time, and end half a minute later (default 480)",
    )
    parser.add_argument(
        "--jobs", type=int, default=max(1, min(14, (os.cpu_count() or 2) - 2)), help="processes at a time"
    )
    parser.add_argument("--only", default="", help="kernels to measure, separated by commas (default: all)")
    parser.add_argument("--no-search", action="store_true", help="time the kernels as they are and the yardsticks only")
    options = parser.parse_args()
    folder = Path.cwd()
    plan = read_plan(folder)
    changed = [file for file, sha256 in plan.files.items() if file_digest(folder / file) != sha256]
    if changed:
        print(f"not run: changed since the bundle was made: {', '.join(changed)}", file=sys.stderr)
        return 2
    only = {name for name in options.only.split(",") if name}
    kernels = [kernel for kernel in plan.kernels if not only or kernel.id in only]
    Schedule(folder, plan, options.jobs, time.monotonic() + options.seconds).run(kernels, search=not options.no_search)
    print(summary(plan, read_results(folder)))
    return 0


class Schedule:
    """The jobs of one bundle, `width` at a time until `deadline`."""

    def __init__(self, folder: Path, plan: Plan, width: int, deadline: float) -> None:
        self.folder, self.plan, self.width, self.deadline = folder, plan, width, deadline
        self.done = {r["job"]: r for r in read_results(folder) if r["plan"] == plan.sha256}
        self.scratch = Path(tempfile.mkdtemp(prefix="measure-"))
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH", "")))),
            "TRITON_CACHE_DIR": str(self.scratch / "triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(self.scratch / "inductor"),
            # The jobs are the parallelism: threads of each would only get into each other's way.
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "OMP_NUM_THREADS": "2",
        }

    def run(self, kernels: Iterable[Kernel], *, search: bool) -> None:
        """Search every kernel, then take the times that count; those of one kernel together, in the same weather."""
        kernels = list(kernels)
        waiting = deque(f"explore:{k.id}" for k in kernels if k.candidates and search)
        for kernel in kernels:
            if f"explore:{kernel.id}" not in waiting or f"explore:{kernel.id}" in self.done:
                waiting.extend(self.final_jobs(kernel))
        running: list[Running] = []
        attempts: dict[str, int] = {}
        while running or (waiting and self.left() > 0):
            while waiting and len(running) < self.width and self.left() > 0:
                name = waiting.popleft()
                if name not in self.done:
                    running.append(self.start(name))
            time.sleep(0.05)
            for job in [job for job in running if job.process.poll() is not None or self.overdue(job)]:
                running.remove(job)
                attempts[job.name] = attempts.get(job.name, 0) + 1
                if not self.finish(job, attempts[job.name]):
                    waiting.appendleft(job.name)
                elif job.name.startswith("explore:"):
                    # Whole kernels first: what the time does not suffice for is then missing as a whole.
                    waiting.extendleft(reversed(list(self.final_jobs(self.plan.kernel(job.name.split(":")[1])))))

    def left(self) -> float:
        """Return the seconds in which jobs may still be started."""
        return self.deadline - time.monotonic()

    def final_jobs(self, kernel: Kernel) -> Iterator[str]:
        """Yield the timing jobs of a kernel."""
        yield f"initial:{kernel.id}"
        found = self.done.get(f"explore:{kernel.id}", {}).get("result", {})
        if found.get("best") not in {None, "", "initial"}:
            yield f"best:{kernel.id}:{found['best']}"
        yield f"yardsticks:{kernel.id}"
        if kernel.id in self.plan.twice:
            yield f"again:{kernel.id}"

    def start(self, name: str) -> Running:
        """Start one job in a process group of its own."""
        out = self.scratch / f"{name.replace(':', '-')}.json"
        command = [sys.executable, "-m", "measure.job", str(self.folder), name, str(out), str(self.scratch / "lock")]
        log = out.with_suffix(".log").open("ab")
        process = subprocess.Popen(
            command, env=self.environment, stdout=log, stderr=log, start_new_session=True
        )  # fmt: skip
        log.close()
        return Running(name, process, out, time.monotonic())

    def overdue(self, job: Running) -> bool:
        """Tell whether a job has had its time, or the bundle has."""
        return time.monotonic() - job.started > _JOB_SECONDS or self.left() < -_GRACE_SECONDS

    def finish(self, job: Running, attempt: int) -> bool:
        """Record what came of a job; False when it should run again without the candidate that ended it."""
        timed_out = job.process.poll() is None
        with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
            os.killpg(job.process.pid, signal.SIGKILL)
        job.process.wait()
        if timed_out and self.left() < -_GRACE_SECONDS:
            return True  # not recorded: it runs when the bundle is started again
        fields = self._fields(job, timed_out=timed_out)
        job.out.unlink(missing_ok=True)
        if fields["status"] in {"crashed", "failed"} and job.name.startswith("explore:") and attempt < _ATTEMPTS:
            return False
        self.done[job.name] = fields
        with (self.folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(seal(fields), ensure_ascii=False, sort_keys=True) + "\n")
        print(f"{time.strftime('%H:%M:%S')} {fields['status']:9} {job.name}", file=sys.stderr, flush=True)
        return True

    def _fields(self, job: Running, *, timed_out: bool) -> dict[str, Any]:
        if job.out.exists() and not timed_out:
            read: dict[str, Any] = json.loads(job.out.read_text(encoding="utf-8"))
            return read
        log = job.out.with_suffix(".log")
        tail = log.read_text(encoding="utf-8", errors="replace")[-1500:] if log.exists() else ""
        status = "timed out" if timed_out else "crashed"
        kernel = job.name.split(":")[1]
        return {"job": job.name, "kernel": kernel, "plan": self.plan.sha256, "status": status, "reason": tail}

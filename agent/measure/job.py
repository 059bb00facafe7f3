"""One job in one fresh process: `python -m measure.job BUNDLE JOB OUT LOCK`; the result is a JSON file."""

from __future__ import annotations

import contextlib
import fcntl
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from .accelerator import Accelerator, read_state
from .checking import Case, Wrong, cases_of, check_all, split_cases
from .clock import Stopwatch
from .explore import compile_only, explore
from .hosts import copied, load
from .plan import Kernel, Plan, file_digest, read_plan


class Job:
    """What every kind of job works with: the bundle, its plan, the kernel, and the lock around the device."""

    def __init__(self, folder: Path, name: str, lock: Path) -> None:
        self.folder, self.lock = folder, lock
        self.kind, _, rest = name.partition(":")
        kernel, _, self.argument = rest.partition(":")
        self.plan: Plan = read_plan(folder)
        self.kernel: Kernel = self.plan.kernel(kernel)
        self.read: dict[str, str] = {}

    def load(self, file: str) -> ModuleType:
        """Load a file of the bundle; raises `ValueError` when it is not the file that the plan names."""
        found = file_digest(self.folder / file)
        if found != self.plan.files[file]:
            raise ValueError(f"{file} was changed: its sha256 is {found}, the plan names {self.plan.files[file]}")
        self.read[file] = found
        return load(self.folder / file)

    @contextlib.contextmanager
    def device(self) -> Iterator[Accelerator]:
        """Hold the device alone."""
        with self.lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield Accelerator(self.plan.device)

    def cases(self, module: ModuleType, most: int | None = None) -> list[Case]:
        """Make the inputs of the cases to check; the first are also those that are timed."""
        Accelerator(self.plan.device).reserve()
        return cases_of(module, self.plan.device, self.plan.seeds)[:most]


def measure_file(job: Job, file: str, *, check: bool = True) -> dict[str, Any]:
    """Check a kernel file in every case, then time its `run`."""
    module = job.load(file)
    large, small = split_cases(job.cases(job.load(job.kernel.initial), None if check else 1))
    given = large[0].inputs
    compile_only(lambda: module.run(*given))
    # Small cases disturb nobody; and with them PyTorch loads what it needs for the large ones.
    checks = check_all(small, module.run) if check else None
    with job.device() as accelerator:
        checks = None if checks is None else merged(checks, check_all(large, module.run))
        timing = Stopwatch(accelerator, lambda: module.run(*given)).measure()
    return {"checks": checks, "timing": timing, **about(accelerator)}


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Add up two results of checking."""
    worst = max(first["max_error"], second["max_error"])
    return {"cases": [*second["cases"], *first["cases"]], "max_error": worst}


def measure_yardsticks(job: Job) -> dict[str, Any]:
    """Time what others offer for the same task: PyTorch as it is, compiled by torch.compile, an expert's kernel."""
    module = job.load(job.kernel.initial)
    expert = job.load(job.kernel.expert) if job.kernel.expert else None
    case = job.cases(module, 1)[0]
    given = case.inputs
    compiled = torch.compile(module.reference)
    with contextlib.suppress(Exception):  # told below, when it is timed
        compiled(*copied(given))
    found: dict[str, Any] = {}
    with job.device() as accelerator:
        found["library"] = timed(accelerator, lambda: module.reference(*given))
        found["compiled"] = timed(accelerator, lambda: compiled(*given))
        if expert is not None:
            found["expert"] = checked(accelerator, case.answer(), expert.expert)
    return {**found, **about(accelerator)}


def timed(accelerator: Accelerator, call: Callable[[], Any]) -> dict[str, Any]:
    """Time a yardstick; that it fails is a result."""
    try:
        return {"timing": Stopwatch(accelerator, call).measure()}
    except Exception as error:  # noqa: BLE001 - a stranger's compiler may raise anything
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def checked(accelerator: Accelerator, case: Case, expert: Any) -> dict[str, Any]:
    """Time an expert's version once it is right."""
    try:
        error = case.check(expert)
    except Wrong as wrong:
        return {"error": str(wrong)}
    return {"max_error": error, **timed(accelerator, lambda: expert(*case.inputs))}


def search(job: Job, progress: Path) -> dict[str, Any]:
    """Find the fastest right candidate."""
    cases = job.cases(job.load(job.kernel.initial))
    files = {"initial": job.kernel.initial, **{c.id: c.file for c in job.kernel.candidates}}
    notes = {c.id: c.note for c in job.kernel.candidates}
    return explore({name: job.load(file) for name, file in files.items()}, notes, cases, job.device, progress)


def about(accelerator: Accelerator) -> dict[str, Any]:
    """Describe the machine for a result, and the state it is in."""
    return {"machine": accelerator.describe(), "state": read_state(accelerator.name)}


def perform(job: Job, progress: Path) -> dict[str, Any]:
    """Do one job."""
    if job.kind == "explore":
        return search(job, progress)
    if job.kind in {"initial", "again"}:
        return measure_file(job, job.kernel.initial, check=job.kind == "initial")
    if job.kind == "best":
        return measure_file(job, next(c.file for c in job.kernel.candidates if c.id == job.argument))
    return measure_yardsticks(job)


def main() -> None:
    """Do the job that the command line names, and write what came of it."""
    folder, name, out, lock = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    started = time.time()
    job = Job(folder, name, lock)
    fields: dict[str, Any] = {"job": name, "kernel": job.kernel.id, "plan": job.plan.sha256}
    try:
        fields |= {"status": "ok", "result": perform(job, out.with_suffix(".progress"))}
    except Wrong as error:
        fields |= {"status": "wrong", "reason": str(error)}
    except Exception as error:  # noqa: BLE001 - a kernel may raise anything; what it raised is the result
        fields |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:1000]}
    fields |= {"files": job.read, "started": started, "seconds": time.time() - started}
    out.write_text(json.dumps(fields), encoding="utf-8")


if __name__ == "__main__":
    main()

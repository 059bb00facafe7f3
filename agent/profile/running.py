"""Run a profiler where it and its device are: msprof op, Nsight Compute, Proton; else say what is missing.

The kernel's host code runs as it is, outside the sandbox: a device is not to be had inside. Commands:
https://www.hiascend.com/document/detail/zh/canncommercial/850/devaids/optool/atlasopdev_16_0082.html (msprof op),
https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html (ncu),
https://github.com/triton-lang/triton/blob/main/third_party/proton/README.md (proton).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from indexer.errors import ToolchainError

Name = Literal["msprof", "ncu", "proton"]
HARNESS = Path(__file__).with_name("harness.py")
DEVICES = Path("/dev")
SECONDS = 600
_TAIL = 400  # characters of what a failed profiler said


@dataclass(frozen=True, slots=True)
class Profiler:
    """A profiler: its program, the device nodes one of which must be there, torch's name of the device, its arguments.

    `arguments` are given the program to profile and the folder for its files.
    """

    name: Name
    program: str
    nodes: str
    device: str
    arguments: Callable[[Sequence[str], Path], Sequence[str]]


PROFILERS = (
    Profiler("msprof", "msprof", "davinci[0-9]*", "npu", lambda run, out: ["op", f"--output={out}", *run]),
    Profiler(
        "ncu", "ncu", "nvidia[0-9]*", "cuda",
        # The clocks are left alone: other programs may use the device.
        lambda run, out: ["--csv", "--page", "raw", "--set", "full", "--clock-control", "none",
                          "--log-file", f"{out / 'run.ncu.csv'}", *run],
    ),
    Profiler("proton", "proton", "nvidia[0-9]*", "cuda", lambda run, out: ["-n", f"{out / 'run'}", *run[1:]]),
)  # fmt: skip


def find_missing(profiler: Profiler, devices: Path = DEVICES) -> str:
    """Return what is not here of a profiler: its program, its device; "" when all is."""
    if shutil.which(profiler.program) is None:
        return profiler.program
    return "" if any(devices.glob(profiler.nodes)) else f"{devices}/{profiler.nodes}"


def run_profiler(name: Name, file: Path, out: Path, python: str, *, devices: Path = DEVICES) -> None:
    """Profile a kernel file with `python`, so that `read_profiles(out)` finds what came of it.

    Raises `ToolchainError` where the profiler or its device is missing, and where it fails.
    """
    profiler = next(known for known in PROFILERS if known.name == name)
    lacking = find_missing(profiler, devices)
    if lacking:
        raise ToolchainError("profile.no_profiler", name=name, missing=lacking)
    out.mkdir(parents=True, exist_ok=True)
    run = [python, str(HARNESS), str(file.resolve()), profiler.device]
    command = [profiler.program, *profiler.arguments(run, out.resolve())]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ToolchainError("profile.too_long", name=name, seconds=SECONDS) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-_TAIL:]
        raise ToolchainError("profile.failed", name=name, code=done.returncode, said=said)

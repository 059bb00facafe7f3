"""Runs a stranger's program apart: no network, an empty environment, one scratch folder, limits, a wall clock.

bubblewrap where it works, else Landlock with a filter of system calls; which of them, is found by running it once.
Without either nothing runs, unless the user accepts that. The layers in force come with each result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from agent.isolation.bubblewrap import missing_program, wrap_bubblewrap
from agent.isolation.cgroup import Cgroup, cgroup_layers, make_cgroup
from agent.isolation.landlock import why_no_landlock, wrap_landlock
from agent.isolation.records import Devices as Devices  # noqa: PLC0414 - a noun of this module too
from agent.isolation.records import SandboxPolicy as SandboxPolicy  # noqa: PLC0414 - a noun of this module too
from agent.isolation.records import Wrapped as Wrapped  # noqa: PLC0414 - a noun of this module too
from agent.isolation.records import limit_words
from indexer.errors import SandboxError

OUTPUT_LIMIT_BYTES = 1 << 20
# How programs tell that an allocation was refused: Python, C++, the C library.
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "Cannot allocate memory", "can't allocate memory")
# Several threads may work at once for the whole wall clock.
_CPU_SHARE = 4
# What a launcher that watches a program needs to kill all of it.
_CLEAN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Finished:
    """The program ended by itself."""

    code: int
    output: str
    seconds: float
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The program was killed, with all it started, after `seconds`."""

    seconds: float
    output: str
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The program asked for more than `memory_bytes`."""

    memory_bytes: int
    output: str
    layers: tuple[str, ...]


Outcome = Finished | TimedOut | OutOfMemory


class SandboxedProcess(subprocess.Popen[bytes]):
    """A started program, with the control group that it is in and the way to end all of it."""

    cgroup: Cgroup | None = None
    launcher: bool = False


def wrap(command: Sequence[str | Path], policy: SandboxPolicy, environment: Mapping[str, str] | None = None) -> Wrapped:
    """Wrap `command` for this machine; raises `SandboxError` where there is no sandbox and `unsafe` is not set.

    The environment is `environment` and what a program needs at least, and nothing of ours.
    """
    words = tuple(str(word) for word in command)
    if why_no_bubblewrap() is None:
        return _in_cgroup(wrap_bubblewrap(words, policy, _inside("/scratch", policy, environment)), policy)
    inside = _inside("/" if policy.scratch is None else str(policy.scratch), policy, environment)
    if why_no_landlock() is None:
        return _in_cgroup(wrap_landlock(words, policy, inside), policy)
    if not policy.unsafe:
        raise SandboxError("sandbox.none", reason=why_no_sandbox())
    if shutil.which("prlimit") is None:
        return Wrapped(words, inside, ("wall-clock",))
    return Wrapped((*limit_words(policy, None), *words), inside, ("limits", "wall-clock"))


def _inside(scratch: str, policy: SandboxPolicy, environment: Mapping[str, str] | None) -> dict[str, str]:
    own = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": scratch, "TMPDIR": scratch}
    return {**own, **(policy.devices.environment if policy.devices else {}), **(environment or {})}


def _in_cgroup(wrapped: Wrapped, policy: SandboxPolicy) -> Wrapped:
    layers = cgroup_layers()
    if not layers:
        return wrapped
    return dataclasses.replace(wrapped, layers=(*wrapped.layers, *layers), cgroup_bytes=policy.cgroup_bytes)


def is_limit(error: SandboxError) -> bool:
    """Return whether a program ran into a limit, which tells about the program and not about the sandbox."""
    return error.note.key in {"sandbox.timeout", "sandbox.memory"}


def sandbox_layers() -> tuple[str, ...]:
    """Return the layers that a program gets here; raises `SandboxError` where there is no sandbox."""
    return wrap(("true",), SandboxPolicy()).layers


def why_no_sandbox() -> str | None:
    """Return why neither bubblewrap nor Landlock can work here, None when one can."""
    reasons = (why_no_bubblewrap(), why_no_landlock())
    return None if None in reasons else "; ".join(filter(None, reasons))


@cache
def why_no_bubblewrap() -> str | None:
    """Return why bubblewrap cannot work here, None when it can: it is found by running `true` in it."""
    missing = missing_program()
    if missing is not None:
        return f"{missing}: not found"
    probe = wrap_bubblewrap(("/usr/bin/env", "true"), SandboxPolicy(), {"PATH": "/usr/bin:/bin"})
    outcome = _run(probe, SandboxPolicy(seconds=20))
    if not isinstance(outcome, Finished):
        return "bwrap: no answer"
    lines = outcome.output.strip().splitlines() or [f"bwrap: exit code {outcome.code}"]
    return lines[-1] if outcome.code else None


def run_sandboxed(
    command: Sequence[str | Path], policy: SandboxPolicy, environment: Mapping[str, str] | None = None
) -> Outcome:
    """Run `command` to its end or its limit; its output (both streams, capped) comes back as text."""
    if policy.cpu_seconds is None:
        policy = dataclasses.replace(policy, cpu_seconds=_CPU_SHARE * (policy.seconds + 1))
    wrapped = wrap(command, policy, environment)
    if wrapped.isolated or policy.scratch is not None:
        return _run(wrapped, policy)
    with tempfile.TemporaryDirectory(prefix="tritonkb-scratch-") as folder:
        policy = dataclasses.replace(policy, scratch=Path(folder))
        return _run(wrap(command, policy, environment), policy)


def _run(wrapped: Wrapped, policy: SandboxPolicy) -> Outcome:
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = start_wrapped(wrapped, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            code: int | None = process.wait(policy.seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            starved = process.cgroup is not None and process.cgroup.out_of_memory()
            kill_group(process)
        spent, text = time.monotonic() - start, read_capped(output)
    if code is None:
        return TimedOut(policy.seconds, text, wrapped.layers)
    if code and (starved or any(sign in text for sign in _OUT_OF_MEMORY)):
        return OutOfMemory(policy.memory_bytes, text, wrapped.layers)
    return Finished(code, text, spent, wrapped.layers)


def start_wrapped(
    wrapped: Wrapped, *, stdin: int | IO[bytes], stdout: int | IO[bytes], stderr: int | IO[bytes]
) -> SandboxedProcess:
    """Start a wrapped command in a process group, and where it may be a control group, of its own."""
    with contextlib.ExitStack() as opened:
        command, passed = list(wrapped.command), list[int]()
        if wrapped.filter is not None:
            file = opened.enter_context(tempfile.TemporaryFile())
            file.write(wrapped.filter)
            file.seek(0)
            command[1:1] = ["--seccomp", str(file.fileno())]
            passed.append(file.fileno())
        cgroup = None if wrapped.cgroup_bytes is None else make_cgroup(wrapped.cgroup_bytes)
        if cgroup is not None:
            command = cgroup.joining(command)
        process = SandboxedProcess(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=dict(wrapped.environment),
            cwd="/",
            start_new_session=True,
            pass_fds=passed,
        )
        process.cgroup, process.launcher = cgroup, "landlock" in wrapped.layers
        return process


def kill_group(process: SandboxedProcess) -> None:
    """Kill what `start_wrapped` started with all it left: bubblewrap takes its namespace along."""
    if process.launcher and process.poll() is None:
        # The launcher ends what it watches, in whatever group that is, and then itself.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_CLEAN_SECONDS)
    with contextlib.suppress(ProcessLookupError):  # all of it is gone
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.cgroup is not None:
        process.cgroup.remove()


def read_capped(output: IO[bytes]) -> str:
    """Read what a program wrote, at most `OUTPUT_LIMIT_BYTES` of it."""
    output.seek(0)
    return output.read(OUTPUT_LIMIT_BYTES).decode(errors="replace")

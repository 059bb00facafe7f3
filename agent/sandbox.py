"""Runs a stranger's program apart: bubblewrap, no network, an empty environment, limits, a wall clock.

Root starts the sandbox without a user namespace and drops to a user id of its own inside, so that the limit on
processes holds; others use a user namespace. Which form works here is found by running it once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

from agent.seccomp import system_call_filter
from indexer.errors import SandboxError

_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
OUTPUT_LIMIT_BYTES = 1 << 20
_FILE_DESCRIPTORS = 512
_PROCESSES = 256
_TMP_BYTES = 64 << 20
# How programs tell that an allocation was refused: Python, C++, the C library.
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "Cannot allocate memory", "can't allocate memory")
# Far above the ids that systems hand out, one per sandbox: RLIMIT_NPROC counts by user id over the whole machine.
_FIRST_UID, _UIDS = 2_000_000, 1_000_000
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What a sandboxed program may have. `readable` folders are seen read-only under their own paths.

    `seconds` is the wall clock of a program, or of one job of a worker. `unsafe` allows running without a sandbox
    where there is none (limits stay); the layers then say so. `overhead_bytes` of memory do not count, for what the
    program needs before any stranger's code runs.
    """

    seconds: float = 60.0
    memory_bytes: int = 4 << 30
    scratch_bytes: int = 1 << 30
    readable: tuple[Path, ...] = ()
    unsafe: bool = False
    overhead_bytes: int = 0


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


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command as it is really started, its environment, and the layers in force."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    filter: bytes | None = None

    @property
    def isolated(self) -> bool:
        """Tell whether a sandbox is in force, and not the limits alone."""
        return "bubblewrap" in self.layers


def wrap(command: Sequence[str | Path], policy: SandboxPolicy, environment: Mapping[str, str] | None = None) -> Wrapped:
    """Wrap `command` for this machine; raises `SandboxError` where there is no sandbox and `unsafe` is not set."""
    words = tuple(str(word) for word in command)
    inside = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/scratch",
        "TMPDIR": "/scratch",
        **(environment or {}),
    }
    reason = why_no_sandbox()
    if reason is None:
        return _bubblewrap(words, policy, inside)
    if not policy.unsafe:
        raise SandboxError("sandbox.none", reason=reason)
    if shutil.which("prlimit") is None:
        return Wrapped(words, inside, ("wall-clock",))
    return Wrapped((*_limits(policy, processes=False), *words), inside, ("limits", "wall-clock"))


def is_limit(error: SandboxError) -> bool:
    """Return whether a program ran into a limit, which tells about the program and not about the sandbox."""
    return error.note.key in {"sandbox.timeout", "sandbox.memory"}


@cache
def why_no_sandbox() -> str | None:
    """Return why bubblewrap cannot work here, None when it can: it is found by running `true` in it."""
    for program in ("bwrap", "setpriv", "prlimit"):
        if shutil.which(program) is None:
            return f"{program}: not found"
    probe = _bubblewrap(("/usr/bin/env", "true"), SandboxPolicy(), {"PATH": "/usr/bin:/bin"})
    outcome = _run(probe, SandboxPolicy(seconds=20))
    if not isinstance(outcome, Finished):
        return "bwrap: no answer"
    lines = outcome.output.strip().splitlines() or [f"bwrap: exit code {outcome.code}"]
    return lines[-1] if outcome.code else None


def run_sandboxed(
    command: Sequence[str | Path], policy: SandboxPolicy, environment: Mapping[str, str] | None = None
) -> Outcome:
    """Run `command` to its end or its limit; its output (both streams, capped) comes back as text."""
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
            kill_group(process)
        spent, text = time.monotonic() - start, read_capped(output)
    if code is None:
        return TimedOut(policy.seconds, text, wrapped.layers)
    if code and any(sign in text for sign in _OUT_OF_MEMORY):
        return OutOfMemory(policy.memory_bytes, text, wrapped.layers)
    return Finished(code, text, spent, wrapped.layers)


def start_wrapped(
    wrapped: Wrapped, *, stdin: int | IO[bytes], stdout: int | IO[bytes], stderr: int | IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start a wrapped command in a process group of its own."""
    with contextlib.ExitStack() as opened:
        command, passed = list(wrapped.command), list[int]()
        if wrapped.filter is not None:
            file = opened.enter_context(tempfile.TemporaryFile())
            file.write(wrapped.filter)
            file.seek(0)
            command[1:1] = ["--seccomp", str(file.fileno())]
            passed.append(file.fileno())
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=dict(wrapped.environment),
            cwd="/",
            start_new_session=True,
            pass_fds=passed,
        )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process started by `start_wrapped` with its group; bubblewrap takes its namespace along."""
    with contextlib.suppress(ProcessLookupError):  # all of it is gone
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read_capped(output: IO[bytes]) -> str:
    """Read what a program wrote, at most `OUTPUT_LIMIT_BYTES` of it."""
    output.seek(0)
    return output.read(OUTPUT_LIMIT_BYTES).decode(errors="replace")


def _limits(policy: SandboxPolicy, *, processes: bool) -> tuple[str, ...]:
    virtual = 2 * policy.memory_bytes + (8 << 30)  # a backstop: torch maps gigabytes that it never touches
    wanted = [f"--as={virtual}", f"--data={policy.memory_bytes + policy.overhead_bytes}", "--core=0"]
    wanted += [f"--fsize={policy.scratch_bytes}", f"--nofile={_FILE_DESCRIPTORS}"]
    if processes:
        wanted.append(f"--nproc={_PROCESSES if os.geteuid() == 0 else _PROCESSES + _own_threads()}")
    return ("prlimit", *wanted)


def _own_threads() -> int:
    """Count this user's threads: in a user namespace of theirs, older kernels count them against RLIMIT_NPROC."""
    count, user = 0, os.getuid()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                count += len(list((entry / "task").iterdir())) if entry.stat().st_uid == user else 0
            except OSError:
                continue  # it ended meanwhile
    return count


def _bubblewrap(words: tuple[str, ...], policy: SandboxPolicy, inside: Mapping[str, str]) -> Wrapped:
    root = os.geteuid() == 0
    command = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
    command += _privileges(root=root)
    for name, value in inside.items():
        command += ["--setenv", name, value]
    command += _mounts(policy)
    command += ["--chdir", "/scratch"]
    if root:
        uid = str(_FIRST_UID + (os.getpid() * 16 + next(_numbers)) % _UIDS)
        command += ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "--inh-caps=-all"]
        command += ["--bounding-set=-all", "--no-new-privs"]
    command += [*_limits(policy, processes=True), *words]
    calls = system_call_filter()
    layers = ["bubblewrap", "own-uid" if root else "user-namespace", "no-network", "limits", "wall-clock"]
    layers += [] if calls is None else ["seccomp"]
    return Wrapped(tuple(command), {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}, tuple(layers), calls)


def _privileges(*, root: bool) -> list[str]:
    if not root:
        return ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    # Without a user namespace, setpriv inside needs these three to drop to its own user id; it then loses them too.
    kept = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
    return ["--cap-drop", "ALL", *(word for name in kept for word in ("--cap-add", name))]


def _mounts(policy: SandboxPolicy) -> list[str]:
    words: list[str] = []
    for folder in _SYSTEM_FOLDERS:
        path = Path(folder)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            words += ["--ro-bind", folder, folder]
    for file in _SYSTEM_FILES:
        words += ["--ro-bind-try", file, file]
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--perms", "1777", "--size", str(policy.scratch_bytes), "--tmpfs", "/scratch"]
    words += ["--perms", "1777", "--size", str(_TMP_BYTES), "--tmpfs", "/tmp"]  # noqa: S108 - its own
    words += _readable_mounts(policy.readable)
    return [*words, "--remount-ro", "/"]


def _readable_mounts(folders: Sequence[Path]) -> list[str]:
    """Bind each folder read-only; its parents are made world-readable, for bubblewrap makes them 0700 (0.8.0)."""
    words: list[str] = []
    system = {Path(folder) for folder in _SYSTEM_FOLDERS}
    made = {Path("/"), Path("/tmp"), *system}  # noqa: S108 - the private /tmp
    for folder in sorted({folder.absolute() for folder in folders}):
        if not system.isdisjoint((folder, *folder.parents)):
            continue
        for parent in reversed(folder.parents):
            if parent not in made:
                words += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        words += ["--ro-bind", str(folder), str(folder)]
        made.add(folder)
    return words

"""Talks to the worker in the toolchain's Python: starts it in the sandbox, sends jobs, survives what it does."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from agent.sandbox import SandboxedProcess, SandboxPolicy, Wrapped, kill_group, start_wrapped, wrap
from agent.toolchain.install import PythonInstall
from agent.toolchain.worker import frames
from indexer.errors import BadInput, SandboxError, ToolchainError
from indexer.messages import render

if TYPE_CHECKING:
    from typing_extensions import Self

WORKER_FOLDER = Path(__file__).parent / "worker"
# A cold start reads torch from disk (3 s warm, measured); a loaded machine may take far longer.
START_SECONDS = 120.0
# What the worker itself may need beyond a job's own time: the fork, the kill, the import of meta tensors (2.6 s).
GRACE_SECONDS = 20.0
_LOOK_SECONDS = 0.05
# torch and triton map about 1 GiB of private memory before any job runs, and a compiled kernel has 1 GiB of its own.
OVERHEAD_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's answer to one job: the header's fields, the blobs, and what host code printed (capped)."""

    fields: dict[str, Any]
    blobs: list[bytes]

    @property
    def status(self) -> str:
        """Return `ok`, `missing` …; a rejection is raised, not returned."""
        return str(self.fields["status"])

    @property
    def output(self) -> str:
        """Return what host code printed, without what steers a terminal."""
        return printable(str(self.fields.get("output", "")))


@dataclass(slots=True)
class _Running:
    process: SandboxedProcess
    errors: IO[bytes]
    wrapped: Wrapped
    folder: tempfile.TemporaryDirectory[str] | None
    hello: dict[str, Any] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        return _pipe(self.process.stdin).fileno()

    @property
    def answers(self) -> int:
        return _pipe(self.process.stdout).fileno()


class Worker:
    """One warm worker; started by the first job, restarted once when it dies, gone when the context ends.

    `interpreter` starts it with Triton's interpreter in place of its compiler. A worker serves one job at a time;
    several threads may share it and queue.
    """

    def __init__(self, install: PythonInstall, policy: SandboxPolicy, *, interpreter: bool = False) -> None:
        self.install, self.policy, self.interpreter = install, policy, interpreter
        self._running: _Running | None = None
        self._starting: Future[_Running] | None = None
        self._lock = threading.Lock()
        # bubblewrap dies with the *thread* that started it (PR_SET_PDEATHSIG), so one thread starts all.
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tritonkb-worker")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill the worker and all it started, for good."""
        self._forget_start()
        self.close()
        self._starter.shutdown()

    def start_early(self) -> None:
        """Begin to start it, so that it is ready when the first job comes; what goes wrong is told by that job."""
        if self._running is None and self._starting is None:
            self._starting = self._starter.submit(self._start)

    def _forget_start(self) -> None:
        """End a start that no job waited for."""
        starting, self._starting = self._starting, None
        while starting is not None and not starting.done():
            if self._running is not None:  # its greeting never comes then, and the start fails
                kill_group(self._running.process)
            wait([starting], timeout=_LOOK_SECONDS)

    @property
    def layers(self) -> tuple[str, ...]:
        """Return what keeps host code apart, as long as the worker runs."""
        return self._running.wrapped.layers if self._running else ()

    def close(self) -> None:
        """Kill the worker and all it started."""
        if self._running is not None:
            running, self._running = self._running, None
            kill_group(running.process)
            for stream in (running.process.stdin, running.process.stdout, running.errors):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
            if running.folder is not None:
                running.folder.cleanup()

    def request(self, job: str, fields: dict[str, Any], blobs: Sequence[bytes] = ()) -> Reply:
        """Run one job and return its answer.

        Raises `BadInput` for what the file does wrong, `SandboxError` at a limit of time or memory, `ToolchainError`
        when the worker dies twice.
        """
        header = {
            **fields,
            "job": job,
            "seconds": self.policy.seconds,
            "memory_bytes": self.policy.memory_bytes,
        }
        with self._lock:
            reply = self._try(header, blobs)
            if reply is None:
                reply = self._try(header, blobs)
        if reply is None:
            raise ToolchainError("worker.died", job=job, python=self.install.python)
        return self._judge(reply, fields)

    def _try(self, header: dict[str, Any], blobs: Sequence[bytes]) -> Reply | None:
        """Send one job; None when the worker died or talked nonsense, which closes it."""
        running = self._ready()
        deadline = time.monotonic() + self.policy.seconds + GRACE_SECONDS
        try:
            frames.write_frame(running.requests, header, blobs, deadline)
            return Reply(*frames.read_frame(running.answers, deadline))
        except frames.Late:
            self.close()
            raise SandboxError("sandbox.timeout", seconds=self.policy.seconds) from None
        except frames.FrameError:
            self.close()
            return None
        except BaseException:  # Ctrl-C: a half-read answer would be taken for the next job's
            self.close()
            raise

    def _ready(self) -> _Running:
        """Return the worker, started if need be; it counts as running from its greeting on."""
        starting, self._starting = self._starting, None
        if starting is None:
            return self._running or self._starter.submit(self._start).result()
        try:
            return starting.result()
        except BaseException:  # Ctrl-C: a worker whose greeting nobody read would be taken for a ready one
            self._starting = starting
            self._forget_start()
            raise

    def _judge(self, reply: Reply, fields: dict[str, Any]) -> Reply:
        status = reply.status
        path = fields.get("path", fields.get("name", ""))
        if status == "rejected":
            raise self._rejection(path, reply)
        if status == "timeout":
            raise SandboxError("sandbox.timeout", seconds=self.policy.seconds)
        if status == "memory":
            raise SandboxError("sandbox.memory", mebibytes=self.policy.memory_bytes >> 20)
        if status == "crashed":
            tail = reply.output.strip().splitlines()[-1:] or [""]
            raise BadInput("capture.host_crashed", path=path, signal=reply.fields.get("signal", 0), text=tail[0])
        if status not in ("ok", "missing"):
            raise self.nonsense(f"status {status[:20]}")
        return reply

    def _rejection(self, path: str, reply: Reply) -> BadInput | ToolchainError:
        """Turn a rejection into our error, if it is one that we know; host code may have written it."""
        try:
            values = {name: printable(v) if isinstance(v, str) else v for name, v in reply.fields["values"].items()}
            error = BadInput(f"capture.{reply.fields['reason']}", **{**values, "path": path})
            render(error.note, "en")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
            return self.nonsense(str(problem))
        return error

    def nonsense(self, problem: str) -> ToolchainError:
        """Give the error for an answer that is a frame, but none of ours."""
        return ToolchainError("worker.nonsense", problem=printable(problem), python=self.install.python)

    def _start(self) -> _Running:
        environment = {
            "TRITON_DISABLE_LINE_INFO": "0",
            "TRITON_CACHE_DIR": "/scratch/triton",
            "TRITONKB_JOB_FOLDER": "/scratch/job",
            # Children share two cores with whatever else runs; one job needs no more.
            "OMP_NUM_THREADS": "1",
            **({"TRITON_INTERPRET": "1"} if self.interpreter else {}),
        }
        readable = (WORKER_FOLDER, *python_folders(self.install), *self.policy.readable)
        policy = dataclasses.replace(self.policy, readable=readable, overhead_bytes=OVERHEAD_BYTES)
        wrapped, folder = self._wrap(policy, environment)
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        process = start_wrapped(wrapped, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        running = self._running = _Running(process, errors, wrapped, folder)
        frames.widen(running.requests)
        try:
            running.hello = frames.read_frame(running.answers, time.monotonic() + START_SECONDS)[0]
        except frames.FrameError:
            errors.seek(0)
            text = errors.read(1 << 16).decode(errors="replace").strip().splitlines()[-1:]
            self.close()
            raise ToolchainError("worker.no_start", python=self.install.python, text=(text or [""])[0]) from None
        return running

    def _wrap(
        self, policy: SandboxPolicy, environment: dict[str, str]
    ) -> tuple[Wrapped, tempfile.TemporaryDirectory[str] | None]:
        """Wrap the program; where the sandbox has no mounts of its own, it gets a folder made here."""
        program: list[str | Path] = [self.install.python, "-s", "-B", WORKER_FOLDER / "main.py"]
        wrapped = wrap([*program, "--own-pid-namespace"], policy, environment)
        if wrapped.isolated:
            return wrapped, None
        folder = tempfile.TemporaryDirectory(prefix="tritonkb-worker-")
        plain = {"HOME": folder.name, "TMPDIR": folder.name, "TRITONKB_JOB_FOLDER": f"{folder.name}/job"}
        plain["TRITON_CACHE_DIR"] = f"{folder.name}/triton"
        policy = dataclasses.replace(policy, scratch=Path(folder.name))
        return wrap(program, policy, {**environment, **plain}), folder


def python_folders(install: PythonInstall) -> tuple[Path, ...]:
    """Return the folders that the toolchain's Python is made of: its environment, and the Python it was made from."""
    environment = install.python.absolute().parent.parent
    base = install.python.resolve().parent.parent
    # A virtual environment's python may be a chain of links through folders that are neither.
    return tuple(dict.fromkeys((environment, base, install.site)))


def printable(text: str) -> str:
    """Drop control characters, which a stranger's text may hold for the terminal that shows it."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError(f"the worker of {sys.executable} was started without pipes")
    return stream

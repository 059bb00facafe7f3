"""One command of ours in a process of its own: a tool that compiles must be possible to cancel at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from agent.mcp.child import GRACE_SECONDS
from indexer.errors import BadInput, SandboxError

# Called about every second with the seconds that have gone, and the command's last line of progress.
Tick = Callable[[float, str], Awaitable[None]]

TICK_SECONDS = 1.0


def inside(root: Path, file: str) -> Path:
    """Return `file` as a path below `root`, links resolved; raises `BadInput` for one that leads out of it."""
    path = (root / file).resolve()
    if not path.is_relative_to(root):
        raise BadInput("mcp.outside", path=file, root=root)
    return path


def check_kernel(path: Path) -> None:
    """Raise `BadInput` for a file that is no kernel's: its code is run, and a model may name any file that it sees.

    A file that is missing or cannot be read is left to the command, which tells more.
    """
    if path.is_file():
        if path.suffix != ".py":
            raise BadInput("mcp.not_python", path=path.name)
        if b"triton" not in path.read_bytes():
            raise BadInput("mcp.no_kernel", path=path.name)


async def call(arguments: Sequence[str], folder: Path, seconds: float, tick: Tick) -> dict[str, Any]:
    """Run `tritonkb ARGUMENTS --json` in `folder` and return its document.

    Cancelling, and running longer than `seconds`, end the command and everything it started. Raises `SandboxError` when
    the time is up, `BadInput` when the command gives no document.
    """
    command = [sys.executable, "-P", "-m", "agent.mcp.child", *arguments, "--json"]
    process = await anyio.open_process(
        command, cwd=folder, stdin=subprocess.PIPE, start_new_session=True, env={**os.environ, "NO_COLOR": "1"}
    )
    told = _Told()
    try:
        with anyio.move_on_after(seconds) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_tick, tick, told)
                group.start_soon(told.read, process)
                out = await _all_of(process)
                await process.wait()
                group.cancel_scope.cancel()
    finally:
        await _end(process)
    if scope.cancelled_caught:
        raise SandboxError("mcp.too_long", command=arguments[0], seconds=round(seconds))
    try:
        document: dict[str, Any] = json.loads(out)
    except ValueError as error:
        raise BadInput("mcp.no_document", command=arguments[0], code=process.returncode, said=told.last) from error
    return document


class _Told:
    """The last line that a command wrote to stderr."""

    def __init__(self) -> None:
        self.last = ""

    async def read(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101 - it was opened as a pipe
        rest = b""
        async for part in process.stderr:
            *lines, rest = (rest + part).replace(b"\r", b"\n").split(b"\n")
            for line in lines:
                if line.strip():
                    self.last = line.decode(errors="replace").strip()[:500]


async def _tick(tick: Tick, told: _Told) -> None:
    began = time.monotonic()
    while True:
        await anyio.sleep(TICK_SECONDS)
        await tick(time.monotonic() - began, told.last)


async def _all_of(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 - it was opened as a pipe
    return b"".join([part async for part in process.stdout])


async def _end(process: Process) -> None:
    """End the command with its group: it interrupts itself when its stdin ends, so that its scratch folders go."""
    with anyio.CancelScope(shield=True):
        if process.stdin is not None:
            await process.stdin.aclose()
        with anyio.move_on_after(2 * GRACE_SECONDS):
            await process.wait()
        with contextlib.suppress(ProcessLookupError):  # nothing of it is left
            os.killpg(process.pid, signal.SIGKILL)
        await process.aclose()

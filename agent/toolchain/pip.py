"""Run pip in an environment of ours, tell its progress, and translate its failures.

The user's own pip configuration (mirrors, proxies, certificates, caches) holds: nothing of it is overridden.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from indexer.errors import StoreError, ToolchainError, TritonkbError
from indexer.home import data_home
from indexer.messages import Message, message

_log = logging.getLogger(__name__)

# A gigabyte over a slow line; pip has its own time limit for each connection.
INSTALL_SECONDS = 3600
# `pip --python` (pip's changelog, 22.3).
SERVES_OTHERS = (22, 3)
# How much of what pip said is kept to tell why it failed.
KEPT_LINES = 60
# Making an environment, importing torch for the first time: a minute on a slow disk.
STEP_SECONDS = 300

# `  Downloading https://…/torch-2.13.0-….whl (190.4 MB)`, ten megabytes and more.
_LARGE = re.compile(r"Downloading (?:\S*/)?(\S+) \((\d{2,}(?:\.\d+)? [MG]B)\)")
_DISK = re.compile(r"No space left on device|Disk quota exceeded")
_NO_WHEEL = re.compile(r"satisfies the requirement (\S+) \(from versions: none\)")
_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|Temporary failure in name resolution|Network is "
    r"unreachable|ProxyError|SSLError|ReadTimeoutError|Connection refused|Connection broken"
)


def has_own_pip() -> bool:
    """Tell whether our own environment has a pip that can serve another one (uv and some pipx set-ups have none)."""
    try:
        major, minor = metadata.version("pip").split(".")[:2]
    except metadata.PackageNotFoundError:
        return False
    return (int(major), int(minor)) >= SERVES_OTHERS


def make_environment(interpreter: Path, folder: Path) -> None:
    """Make an empty virtual environment; without a pip of its own where ours can serve it (seconds faster).

    Raises `ToolchainError` when `interpreter` cannot.
    """
    command = [str(interpreter), "-m", "venv", *(["--without-pip"] if has_own_pip() else []), str(folder)]
    run_step(command)


def install_requirements(
    python: Path, requirements: Sequence[str], torch_index: str | None, tell: Callable[[Message], None]
) -> None:
    """Install `requirements` into the environment of `python`.

    Raises `StoreError` when the disk is full, else `ToolchainError` with the reason and the way out.
    """
    pip = [sys.executable, "-m", "pip", "--python", str(python)] if has_own_pip() else [str(python), "-m", "pip"]
    command = [*pip, "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    # Byte code is written at first import; for all of torch at once it would cost half of the time.
    command += ["--no-compile", *(["--extra-index-url", torch_index] if torch_index else []), *requirements]
    said: deque[str] = deque(maxlen=KEPT_LINES)
    with _started(command) as process:
        for line in process.stdout or ():
            said.append(line.strip())
            _log.info(line.strip())
            note = _progress(line)
            if note is not None:
                tell(note)
    if process.returncode:
        raise _explain(said)


def run_step(command: list[str]) -> str:
    """Run a step that is short, and give what it printed; raises `ToolchainError` with what it said last.

    Byte code may be written even where the environment forbids it, as many container images do: the sandboxed worker
    cannot, and would compile torch at each start (4 s).
    """
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_SECONDS, check=False, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError("toolchain.step_failed", command=" ".join(command), reason=error) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        if _DISK.search(done.stderr):
            raise StoreError("toolchain.disk_full", folder=data_home())
        raise ToolchainError("toolchain.step_failed", command=" ".join(command), reason=said[-1])
    return done.stdout


@contextmanager
def _started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start `command` in its own process group, killed as a whole when we leave before it or it takes too long."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    limit = threading.Timer(INSTALL_SECONDS, _kill_group, [process])
    limit.start()
    try:
        yield process
        process.wait()
    finally:
        limit.cancel()
        _kill_group(process)


def _kill_group(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _progress(line: str) -> Message | None:
    """Tell what a person would wait for: the pinned packages, large files, the unpacking."""
    words = line.split()
    if line.startswith("Collecting ") and "==" in words[1]:
        return message("toolchain.collecting", name=words[1])
    large = _LARGE.search(line)
    if large:
        return message("toolchain.downloading", name=large[1], size=large[2])
    if line.startswith("Installing collected packages"):
        return message("toolchain.unpacking")
    return None


def _explain(said: Iterable[str]) -> TritonkbError:
    said = list(said)
    text = "\n".join(said)
    if _DISK.search(text):
        return StoreError("toolchain.disk_full", folder=data_home())
    if _NETWORK.search(text):
        return ToolchainError("toolchain.no_network")
    unknown = _NO_WHEEL.search(text)
    if unknown:
        return ToolchainError("toolchain.no_wheel", requirement=unknown[1], machine=platform.platform())
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    return ToolchainError("toolchain.pip_failed", reason=(errors or said or ["?"])[0])

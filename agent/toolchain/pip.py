"""Run pip in an environment of ours, tell its progress, and translate its failures.

The user's own pip configuration (mirrors, proxies, certificates, caches) holds: nothing of it is overridden.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from indexer.errors import StoreError, ToolchainError, TritonkbError
from indexer.messages import Message, message

_log = logging.getLogger(__name__)

# A gigabyte over a slow line; pip has its own time limit for each connection.
INSTALL_SECONDS = 3600
# How much of what pip said is kept to tell why it failed.
KEPT_LINES = 60

_DISK = re.compile(r"No space left on device|Disk quota exceeded")
_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|Temporary failure in name resolution|Network is "
    r"unreachable|ProxyError|SSLError|ReadTimeoutError|Connection refused|Connection broken"
)


def install_requirements(
    python: Path, requirements: Sequence[str], torch_index: str | None, tell: Callable[[Message], None]
) -> None:
    """Install `requirements` into the environment of `python`.

    Raises `StoreError` when the disk is full, else `ToolchainError` with the reason and the way out.
    """
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
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
        raise _explain(python, list(said))


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
    words = line.split()
    if line.startswith("Collecting "):
        return message("toolchain.collecting", name=words[1])
    if line.strip().startswith("Downloading ") and words[-1].endswith("B)"):
        return message("toolchain.downloading", name=words[1].rsplit("/", 1)[-1], size=" ".join(words[2:]).strip("()"))
    if line.startswith("Installing collected packages"):
        return message("toolchain.unpacking")
    return None


def _explain(python: Path, said: Sequence[str]) -> TritonkbError:
    text = "\n".join(said)
    if _DISK.search(text):
        return StoreError("toolchain.disk_full", folder=python.parent.parent.parent)
    if _NETWORK.search(text):
        return ToolchainError("toolchain.no_network")
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    return ToolchainError("toolchain.pip_failed", reason=(errors or list(said) or ["?"])[0])

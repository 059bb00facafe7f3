"""Workers that stay warm between the uses of one process: a worker lives as long as its process (design, section 5)."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agent.sandbox import SandboxPolicy
from agent.toolchain.client import Worker
from agent.toolchain.install import PythonInstall

# The environment's folder and its inode (another one stands there after an upgrade), the policy, the interpreter.
_Kind = tuple[str, int, SandboxPolicy, bool]
_idle: dict[_Kind, Worker] = {}
_lock = threading.Lock()


@contextmanager
def lend_worker(install: PythonInstall, policy: SandboxPolicy, *, interpreter: bool = False) -> Iterator[Worker]:
    """Lend a worker, where there is one the one that an earlier use left warm; one of a kind waits for the next use.

    Each job runs in a process of its own that is forked for it, so a use sees nothing of those before it. A use that is
    interrupted leaves no worker behind.
    """
    kind = (str(install.python), install.site.stat().st_ino, policy, interpreter)
    with _lock:
        known = _idle.pop(kind, None)
    worker = known or Worker(install, policy, interpreter=interpreter)
    try:
        yield worker
    except Exception:  # whatever stopped the use: the worker closes itself where an answer was read by half
        _keep(kind, worker)
        raise
    except BaseException:
        worker.end()
        raise
    _keep(kind, worker)


def end_workers() -> None:
    """End the workers that wait."""
    with _lock:
        waiting = list(_idle.values())
        _idle.clear()
    for worker in waiting:
        worker.end()


def _keep(kind: _Kind, worker: Worker) -> None:
    with _lock:
        spare = worker if kind in _idle else None
        _idle.setdefault(kind, worker)
    if spare is not None:
        spare.end()


atexit.register(end_workers)

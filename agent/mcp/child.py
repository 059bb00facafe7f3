"""A command that a server started: it ends, and cleans up, when the server ends its call, and when it is killed.

The server holds the other end of our stdin, which the kernel closes with it. A death signal (PR_SET_PDEATHSIG) would
not do: it never comes where the server dies before it was asked for, while Python starts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

# Between the interrupt, which cleans up, and the kill: of a command that swallowed it, or cleans up for ever.
GRACE_SECONDS = 5.0


def run() -> None:
    """Run the command line as long as the server wants it."""
    end_with_server()
    from agent.cli.main import main  # noqa: PLC0415 - the server may be killed while this is read

    main()


def end_with_server(grace_seconds: float = GRACE_SECONDS) -> None:
    """Once stdin ends interrupt this process as Ctrl-C does, then kill it and all it started if that does not help."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background may have it ignored
    threading.Thread(target=_watch, args=(_take_stdin(), grace_seconds), daemon=True).start()


def _take_stdin() -> int:
    """Move the server's pipe away from descriptor 0, which programs that the command starts may read."""
    pipe = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return pipe


def _watch(pipe: int, grace_seconds: float) -> None:
    while os.read(pipe, 4096):
        pass
    # To the main thread itself: a signal to the process may wake another one, and leave the main one asleep.
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    time.sleep(grace_seconds)
    for pid in (*_descendants(os.getpid()), os.getpid()):
        with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
            os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes below `pid`, also those in sessions of their own, the nearest first."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            # Field 4 of stat is the parent (proc(5)); the name before it, in parentheses, may hold spaces.
            if int(entry.read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(entry.parent.name)
                yield from _descendants(int(entry.parent.name))


if __name__ == "__main__":
    run()

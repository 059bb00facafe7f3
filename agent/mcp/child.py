"""A command that a server started: it ends, and cleans up, also when the server is killed."""

from __future__ import annotations

import ctypes
import signal

# prctl(2), linux/prctl.h.
_PR_SET_PDEATHSIG = 1


def run() -> None:
    """Run the command line, interrupted as by Ctrl-C when the parent dies."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background may have it ignored
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    from agent.cli.main import main  # noqa: PLC0415 - the server may be killed while this is read

    main()


if __name__ == "__main__":
    run()

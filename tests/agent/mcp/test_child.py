"""A command that a server started ends with the server, whenever that dies."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ENDS = "import time; from agent.mcp.child import end_with_server; end_with_server(); time.sleep(100)"
SWALLOWS = """\
import subprocess, sys, time
from agent.mcp.child import end_with_server
end_with_server(0.3)
below = subprocess.Popen(["/bin/sleep", "100"], start_new_session=True)
told = [below.pid]
while True:
    try:
        while told:  # where the interrupt, which comes once this is read, is already caught
            print(told.pop(), flush=True)
        time.sleep(100)
    except KeyboardInterrupt:
        print("heard", flush=True)
"""


def test_a_server_that_dies_before_python_has_started_is_noticed() -> None:
    with subprocess.Popen([sys.executable, "-c", ENDS], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdin is not None
        command.stdin.close()
        assert command.wait(50) != 0
        assert command.stderr is not None
        assert b"KeyboardInterrupt" in command.stderr.read()


def test_a_command_that_swallows_the_interrupt_is_killed_with_all_that_it_started() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SWALLOWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as command:
        assert command.stdin is not None and command.stdout is not None  # noqa: PT018
        below = Path("/proc", command.stdout.readline().strip(), "comm")
        assert below.exists()
        command.stdin.close()
        assert command.stdout.read() == "heard\n"
        assert command.wait(50) == -9
        _until_gone(below)


def test_the_pipe_to_the_server_is_not_the_stdin_of_what_a_command_starts() -> None:
    code = (
        "import subprocess; from agent.mcp.child import end_with_server; end_with_server();"
        "print(subprocess.run(['cat'], capture_output=True, timeout=30).returncode)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as command:
        assert command.stdout is not None
        assert command.stdout.read() == b"0\n"


def _until_gone(process: Path) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            process.read_text()
        except (FileNotFoundError, ProcessLookupError):
            return
        if time.monotonic() > end:
            pytest.fail("still there")
        time.sleep(0.02)

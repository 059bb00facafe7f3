"""Runs Python code in a process whose kernel, as far as it can tell, has no Landlock."""

import os
import subprocess
import sys

# What the process does first: it filters its own call of landlock_create_ruleset (444), which then does not exist.
_FIRST = """
import ctypes, errno, struct, sys
from agent.isolation import confine
program = struct.pack("<HBBI", 0x20, 0, 0, 0) + struct.pack("<HBBI", 0x15, 0, 1, 444)
program += struct.pack("<HBBI", 6, 0, 0, 0x50000 | errno.ENOSYS) + struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
confine._filter_calls(program)
"""


def run_without_landlock(code: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run `code` there, with `path` as PATH."""
    return subprocess.run(
        [sys.executable, "-c", _FIRST + code],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

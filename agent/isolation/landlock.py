"""The sandbox where bubblewrap does not work: Landlock, a filter of system calls, limits; no privilege needed.

The launcher (`confine.py`) restricts itself and starts the program; here is what it is told.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from agent.isolation.bubblewrap import SYSTEM_FILES, SYSTEM_FOLDERS, own_threads
from agent.isolation.records import PROCESSES, SandboxPolicy, Wrapped, limits
from agent.isolation.seccomp import system_call_filter

LAUNCHER = Path(__file__).with_name("confine.py")
# landlock_create_ruleset with LANDLOCK_CREATE_RULESET_VERSION answers with the ABI (landlock(7)); the number is the
# same on every architecture (include/uapi/asm-generic/unistd.h).
_CREATE_RULESET, _VERSION = 444, 1
# From this ABI on a program can neither signal others nor reach their abstract sockets (linux/landlock.h, `scoped`).
_SCOPED_ABI = 6
# Before this one a program may empty a file that it may not write (LANDLOCK_ACCESS_FS_TRUNCATE).
LEAST_ABI = 3


@cache
def landlock_abi() -> int:
    """Return the version of Landlock that the kernel has, 0 for none."""
    answer = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)
    return max(0, int(answer))


def why_no_landlock() -> str | None:
    """Return why there is no such sandbox here, None when there is."""
    if landlock_abi() < LEAST_ABI:
        return f"Landlock: ABI {landlock_abi()}, {LEAST_ABI} is needed"
    if system_call_filter() is None:
        return f"seccomp: no numbers of system calls for {os.uname().machine}"
    return None


def wrap_landlock(words: tuple[str, ...], policy: SandboxPolicy, inside: Mapping[str, str]) -> Wrapped:
    """Wrap a command; `inside` is its whole environment, in which the scratch folder is named."""
    devices = policy.devices
    nodes = devices.nodes if devices else ()
    readable = [*SYSTEM_FOLDERS, *SYSTEM_FILES, "/proc", *policy.readable, *(devices.readable if devices else ())]
    scratch = [] if policy.scratch is None else [str(policy.scratch)]
    told = {
        "abi": landlock_abi(),
        "filter": (system_call_filter(sockets=False) or b"").hex(),
        "readable": [str(path) for path in readable],
        "writable": scratch,
        "nodes": ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", *map(str, nodes)],
        "folder": scratch[0] if scratch else "/",
        "limits": limits(policy, PROCESSES + own_threads()),
        "processes": PROCESSES,
        "memory_bytes": policy.cgroup_bytes,
        "scratch_bytes": policy.scratch_bytes,
    }
    python = [sys.executable, "-I", "-S", "-B", str(LAUNCHER)]
    layers = ["landlock", "seccomp", "no-network", "limits", "wall-clock"]
    layers += ["no-signals"] if landlock_abi() >= _SCOPED_ABI else []
    return Wrapped((*python, json.dumps(told), *words), dict(inside), tuple(layers))

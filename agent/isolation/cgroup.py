"""A control group of its own for each sandbox, as a child of ours: memory and processes of all of it together.

Version 2 or version 1, where we may make one; elsewhere the limits of each process have to do. It is always a child of
the group that we are in, so that a limit which the host set stays in force.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent.isolation.records import PROCESSES

_NAME = "tritonkb-{pid}-{number}"
_OURS = re.compile(r"tritonkb-(\d+)-\d+")
_numbers = itertools.count()
# A killed process leaves its group a moment later.
_REMOVE_SECONDS = 2.0
# controller: (file of version 2, file of version 1)
_LIMITS = {"memory": ("memory.max", "memory.limit_in_bytes"), "pids": ("pids.max", "pids.max")}


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A made group: one folder in version 2, one a controller in version 1."""

    folders: tuple[Path, ...]

    def joining(self, command: Sequence[str]) -> list[str]:
        """Return `command` so that it is in the group before it starts anything."""
        # The shell names its own process, which `exec` then makes the command's.
        entering = " && ".join('echo $$ > "$' + str(n) + '"' for n in range(1, len(self.folders) + 1))
        files = [str(folder / "cgroup.procs") for folder in self.folders]
        script = f'{entering} || exit 125; shift {len(files)}; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", *files, *command]

    def out_of_memory(self) -> bool:
        """Tell whether the kernel killed something in it for memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    found = re.search(r"^oom_kill (\d+)", (folder / name).read_text(), re.MULTILINE)
                    if found and int(found[1]):
                        return True
        return False

    def remove(self) -> None:
        """Remove it, as soon as what was in it is gone."""
        end = time.monotonic() + _REMOVE_SECONDS
        for folder in self.folders:
            while folder.exists() and not _remove(folder) and time.monotonic() < end:
                time.sleep(0.01)


def make_cgroup(memory_bytes: int) -> Cgroup | None:
    """Make a group with limits on memory and processes; None where that is not allowed."""
    parents = _parents()
    if not parents:
        return None
    folders: dict[Path, None] = {}
    name = _NAME.format(pid=os.getpid(), number=next(_numbers))
    try:
        for controller, (parent, version) in parents.items():
            folder = parent / name
            folder.mkdir(exist_ok=True)
            folders[folder] = None
            limit = memory_bytes if controller == "memory" else PROCESSES
            (folder / _LIMITS[controller][0 if version == 2 else 1]).write_text(str(limit))
    except OSError:
        Cgroup(tuple(folders)).remove()
        return None
    return Cgroup(tuple(folders))


@cache
def cgroup_layers() -> tuple[str, ...]:
    """Return which limits a group of our own gives here, found by making one."""
    made = make_cgroup(1 << 30)
    if made is None:
        return ()
    made.remove()
    return tuple(f"{controller}-cgroup" for controller in _parents())


@cache
def _parents() -> dict[str, tuple[Path, int]]:
    """Return the group we are in by controller, with its version, where a child of it would have that controller."""
    found = {}
    for version, controllers, folder in _own_groups():
        _sweep(folder)
        for controller in _LIMITS:
            if controller in controllers and os.access(folder, os.W_OK):
                found[controller] = (folder, version)
    return found


def _own_groups() -> Iterator[tuple[int, frozenset[str], Path]]:
    """Yield version, controllers of a child, and folder of each group we are in (cgroups(7))."""
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return
    for line in groups:
        _, names, path = line.split(":", 2)
        for mount in mounts:
            left, _, right = mount.partition(" - ")
            root, point = left.split()[3:5]
            kind, _, options = right.split(" ", 2)
            fits = kind == "cgroup2" if not names else kind == "cgroup" and names in options.split(",")
            inside = f"{path}/".startswith(f"{root.rstrip('/')}/")
            if fits and inside:
                folder = Path(point + path[len(root.rstrip("/")) :])
                yield (1, frozenset(names.split(",")), folder) if names else (2, _passed_down(folder), folder)
                break


def _passed_down(folder: Path) -> frozenset[str]:
    with contextlib.suppress(OSError):
        return frozenset((folder / "cgroup.subtree_control").read_text().split())
    return frozenset()


def _sweep(folder: Path) -> None:
    """Remove what a killed tritonkb left behind."""
    with contextlib.suppress(OSError):
        for entry in folder.glob("tritonkb-*"):
            owner = _OURS.fullmatch(entry.name)
            if owner and not Path(f"/proc/{owner[1]}").exists():
                _remove(entry)


def _remove(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()
        return True
    return False

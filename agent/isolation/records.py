"""The nouns of the sandbox: what a program may have, and a command as it is really started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Enough for torch, its threads and a compiler; a fork bomb ends here.
PROCESSES = 256
FILE_DESCRIPTORS = 512
TMP_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Devices:
    """Accelerators that a sandboxed program may use; see `agent.isolation.devices` for those of NVIDIA and Ascend.

    `nodes` are device files, passed through where they exist; `readable` files and folders of the driver; `environment`
    variables that name the devices; `groups` the ids of the groups that may open the nodes. With a device there is no
    limit on virtual memory, which its driver reserves by the terabyte: the memory cgroup is the limit then.
    """

    nodes: tuple[Path, ...]
    readable: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What a sandboxed program may have. `readable` folders are seen read-only under their own paths.

    `seconds` is the wall clock of a program, or of one job of a worker; `cpu_seconds` the processor time of each
    process (None: not limited, for a worker that lives long). `unsafe` allows running without a sandbox where there is
    none (limits stay); the layers then say so. `overhead_bytes` of memory do not count, for what the program needs
    before any stranger's code runs. `devices` are passed through; none are by default. `scratch` is an existing folder
    that may be written where the sandbox cannot make one of its own (`Wrapped.isolated` tells).
    """

    seconds: float = 60.0
    memory_bytes: int = 4 << 30
    scratch_bytes: int = 1 << 30
    readable: tuple[Path, ...] = ()
    unsafe: bool = False
    overhead_bytes: int = 0
    cpu_seconds: float | None = None
    devices: Devices | None = None
    scratch: Path | None = None

    @property
    def cgroup_bytes(self) -> int:
        """Return the memory of all processes together; what they keep in scratch counts as memory too."""
        return self.memory_bytes + self.overhead_bytes + self.scratch_bytes + TMP_BYTES


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command as it is really started, its environment, and the layers in force.

    `filter` is handed to bubblewrap by a descriptor. `cgroup_bytes` asks for a control group with that much memory.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    filter: bytes | None = None
    cgroup_bytes: int | None = None

    @property
    def isolated(self) -> bool:
        """Tell whether it has mounts and processes of its own, and so a scratch folder of its own: `/scratch`."""
        return "bubblewrap" in self.layers


def limits(policy: SandboxPolicy, processes: int | None) -> dict[str, int]:
    """Return the limits of one process, by the names that prlimit(1) and RLIMIT_… share."""
    wanted = {"core": 0, "fsize": policy.scratch_bytes, "nofile": FILE_DESCRIPTORS}
    if policy.devices is None:
        # A backstop: torch maps gigabytes that it never touches.
        wanted |= {"as": 2 * policy.memory_bytes + (8 << 30), "data": policy.memory_bytes + policy.overhead_bytes}
    if policy.cpu_seconds is not None:
        wanted["cpu"] = max(1, round(policy.cpu_seconds))
    return wanted if processes is None else {**wanted, "nproc": processes}


def limit_words(policy: SandboxPolicy, processes: int | None) -> tuple[str, ...]:
    """Return the limits as a command that starts another one under them."""
    return ("prlimit", *(f"--{name}={value}" for name, value in limits(policy, processes).items()))

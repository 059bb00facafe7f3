"""The command line of bubblewrap: which namespaces, mounts and privileges a stranger's program gets.

Root starts the sandbox without a user namespace and drops to a user id of its own inside, so that the limit on
processes holds; others use a user namespace. Which form works here is found by running it once.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.isolation.records import PROCESSES, TMP_BYTES, Devices, SandboxPolicy, Wrapped, limit_words
from agent.isolation.seccomp import system_call_filter

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
PROGRAMS = ("bwrap", "setpriv", "prlimit")
# Far above the ids that systems hand out, one per sandbox: RLIMIT_NPROC counts by user id over the whole machine.
_FIRST_UID, _UIDS = 2_000_000, 1_000_000
_numbers = itertools.count()


def missing_program() -> str | None:
    """Return the first of the programs needed that is not here."""
    return next((program for program in PROGRAMS if shutil.which(program) is None), None)


def wrap_bubblewrap(words: tuple[str, ...], policy: SandboxPolicy, inside: Mapping[str, str]) -> Wrapped:
    """Wrap a command; `inside` is its whole environment."""
    root = os.geteuid() == 0
    command = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"]
    command += _privileges(root=root)
    for name, value in inside.items():
        command += ["--setenv", name, value]
    command += _mounts(policy)
    command += ["--chdir", "/scratch"]
    if root:
        command += _drop_user(policy.devices)
    processes = PROCESSES if root else PROCESSES + own_threads()
    command += [*limit_words(policy, processes), *words]
    calls = system_call_filter()
    layers = ["bubblewrap", "own-uid" if root else "user-namespace", "no-network", "limits", "wall-clock"]
    layers += [] if calls is None else ["seccomp"]
    return Wrapped(tuple(command), {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}, tuple(layers), calls)


def own_threads() -> int:
    """Count this user's threads: in a user namespace of theirs, older kernels count them against RLIMIT_NPROC."""
    count, user = 0, os.getuid()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                count += len(list((entry / "task").iterdir())) if entry.stat().st_uid == user else 0
            except OSError:
                continue  # it ended meanwhile
    return count


def _privileges(*, root: bool) -> list[str]:
    if not root:
        return ["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    # Without a user namespace, setpriv inside needs these three to drop to its own user id; it then loses them too.
    kept = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
    return ["--cap-drop", "ALL", *(word for name in kept for word in ("--cap-add", name))]


def _drop_user(devices: Devices | None) -> list[str]:
    uid = str(_FIRST_UID + (os.getpid() * 16 + next(_numbers)) % _UIDS)
    groups = ",".join(map(str, devices.groups)) if devices else ""
    return [
        "setpriv", "--reuid", uid, "--regid", uid, *(("--groups", groups) if groups else ("--clear-groups",)),
        "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs",
    ]  # fmt: skip


def _mounts(policy: SandboxPolicy) -> list[str]:
    words: list[str] = []
    for folder in SYSTEM_FOLDERS:
        path = Path(folder)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            words += ["--ro-bind", folder, folder]
    for file in SYSTEM_FILES:
        words += ["--ro-bind-try", file, file]
    words += ["--proc", "/proc", "--dev", "/dev"]
    devices = policy.devices or Devices(())
    for node in devices.nodes:
        words += ["--dev-bind-try", str(node), str(node)]
    words += ["--perms", "1777", "--size", str(policy.scratch_bytes), "--tmpfs", "/scratch"]
    words += ["--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]  # noqa: S108 - its own
    words += _readable_mounts((*policy.readable, *devices.readable))
    return [*words, "--remount-ro", "/"]


def _readable_mounts(folders: Sequence[Path]) -> list[str]:
    """Bind each folder read-only; its parents are made world-readable, for bubblewrap makes them 0700 (0.8.0)."""
    words: list[str] = []
    system = {Path(folder) for folder in SYSTEM_FOLDERS}
    made = {Path("/"), Path("/tmp"), *system}  # noqa: S108 - the private /tmp
    for folder in sorted({folder.absolute() for folder in folders}):
        if not system.isdisjoint((folder, *folder.parents)):
            continue
        for parent in reversed(folder.parents):
            if parent not in made:
                words += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        words += ["--ro-bind", str(folder), str(folder)]
        made.add(folder)
    return words

"""Starts a program under Landlock and a filter of system calls, watches it, and kills all it leaves behind.

Run as `python -I -S -B confine.py TOLD COMMAND…`, standard library only. `TOLD` is JSON, see `landlock.py`. The
program is a child; what it starts and leaves is adopted by this process, so that nothing outlives it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

# prctl(2), linux/prctl.h.
_SET_PDEATHSIG, _CAPBSET_DROP, _SET_SECCOMP, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 24, 22, 36, 38
_FILTER_MODE = 2  # linux/seccomp.h
# linux/capability.h
_CAPABILITY_VERSION_3 = 0x20080522
_CAPABILITIES = 64
# landlock(7): numbers of the calls, the rule's type, and rights on files by the ABI that brought them.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _PATH_BENEATH = 444, 445, 446, 1
_EXECUTE, _WRITE, _READ, _READ_FOLDER = 1, 2, 4, 8
_ALL_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_NETWORK_ABI, _SCOPE_ABI = 4, 6
_BIND_CONNECT = _ABSTRACT_SOCKETS_SIGNALS = 3
_WATCH_SECONDS = 0.1
_OVER_LIMIT = 137

_libc = ctypes.CDLL(None, use_errno=True)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_char_p))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def main() -> NoReturn:
    """Start the program, wait for it, and leave nothing."""
    told, command = json.loads(sys.argv[1]), sys.argv[2:]
    _check(_libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")
    _check(_libc.prctl(_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0), "prctl")
    signal.signal(signal.SIGTERM, _stop)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    caller, child = os.getpid(), os.fork()
    if child == 0:
        _become(told, command, caller)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    try:
        code = _follow(child, told)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        kill_descendants()
    os._exit(code)


def _stop(_number: int, _frame: Any) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


def _check(answer: int, what: str) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return answer


def _become(told: dict[str, Any], command: list[str], launcher: int) -> NoReturn:
    """Restrict this process and become the program."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        _check(_libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
        if os.getppid() == launcher:  # else it died before the kernel was asked, and nobody would end this process
            os.chdir(told["folder"])
            _limit(told["limits"])
            _drop_capabilities()
            _check(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
            _restrict_files(told)
            _filter_calls(bytes.fromhex(told["filter"]))
            os.execvp(command[0], command)  # noqa: S606 - the purpose of this program
    except OSError as error:
        print(f"{command[0]}: {error}", file=sys.stderr, flush=True)
    os._exit(126)


def _limit(limits: dict[str, int]) -> None:
    """Lower the limits of this process; one that is lower already stays."""
    for name, wanted in limits.items():
        kind = getattr(resource, f"RLIMIT_{name.upper()}")
        hard = resource.getrlimit(kind)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))


def _drop_capabilities() -> None:
    """Lose what root has beyond a user; a program started later cannot get it back."""
    if os.geteuid() != 0:
        return
    for number in range(_CAPABILITIES):
        if _libc.prctl(_CAPBSET_DROP, number, 0, 0, 0) < 0:  # past the last one that this kernel knows
            break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _restrict_files(told: dict[str, Any]) -> None:
    abi = told["abi"]
    rights = _ALL_FILE_RIGHTS[max(known for known in _ALL_FILE_RIGHTS if known <= abi)]
    wanted = _Ruleset(rights, _BIND_CONNECT, _ABSTRACT_SOCKETS_SIGNALS)
    size = 24 if abi >= _SCOPE_ABI else 16 if abi >= _NETWORK_ABI else 8
    ruleset = _check(_libc.syscall(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(size), 0), "landlock")
    kinds = (("readable", _EXECUTE | _READ | _READ_FOLDER), ("writable", rights), ("nodes", _WRITE | _READ | _IOCTL))
    for kind, allowed in kinds:
        for path in told[kind]:
            _allow(ruleset, path, allowed & rights)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Allow `rights` on a file, or on a folder and all in it; what is not there needs no right."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(parent).st_mode):
        rights &= _ON_FILES
    rule = _Beneath(rights, parent)
    _check(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), f"landlock: {path}")
    os.close(parent)


def _filter_calls(program: bytes) -> None:
    wanted = _Filter(len(program) // 8, program)
    _check(_libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(wanted), 0, 0), "seccomp")


def _follow(child: int, told: dict[str, Any]) -> int:
    """Wait until the child ends or all of it together is over a limit; returns an exit code."""
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        while ended:
            if ended == child:
                return os.waitstatus_to_exitcode(status) % 256 if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            ended, status = os.waitpid(-1, os.WNOHANG)
        signal.sigtimedwait({signal.SIGCHLD}, _WATCH_SECONDS)
        over = _over_limit(told)
        if over:
            print(over, file=sys.stderr, flush=True)
            return _OVER_LIMIT


def _over_limit(told: dict[str, Any]) -> str:
    living = list(_descendants())
    if len(living) > told["processes"]:
        return f"killed: {len(living)} processes"
    if sum(map(_resident_bytes, living)) > told["memory_bytes"]:
        return "killed: Cannot allocate memory"
    if sum(map(_folder_bytes, told["writable"])) > told["scratch_bytes"]:
        return "killed: No space left on device"
    return ""


def _descendants() -> Iterator[int]:
    """Yield the processes below this one, itself excluded; each is known by its parent (proc(5), field 4 of stat)."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return
        yield from more
        found |= more


def _resident_bytes(pid: int) -> int:
    """Return the memory of a process that no file backs."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        return sum(
            int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(("RssAnon:", "RssShmem:"))
        )
    return 0


def _folder_bytes(folder: str) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).lstat().st_blocks * 512
    return total


def kill_descendants() -> None:
    """Kill all processes below this one; each round stops those that would start others first."""
    while living := list(_descendants()):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in living:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        signal.sigtimedwait({signal.SIGCHLD}, 0.005)


if __name__ == "__main__":
    main()

"""The filter of system calls that a sandboxed program runs under, as a classic BPF program.

It denies what no kernel host needs and what has let programs out of sandboxes: tracing, keys, io_uring, BPF, mounts,
new namespaces, modules, the clock. Everything else is allowed; files, network and processes are the sandbox's own
matter, except where no namespace keeps the network away: then sockets are denied too.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping

# Numbers per architecture: Linux's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
_X86_64 = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "add_key": 248, "request_key": 249, "keyctl": 250,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166,
    "pivot_root": 155, "chroot": 161, "open_by_handle_at": 304, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320, "reboot": 169, "swapon": 167, "swapoff": 168,
    "acct": 163, "kcmp": 312, "syslog": 103, "iopl": 172, "ioperm": 173, "clock_settime": 227, "settimeofday": 164,
    "adjtimex": 159, "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171, "fanotify_init": 300,
    "quotactl": 179, "vhangup": 153, "lookup_dcookie": 212, "uselib": 134, "modify_ldt": 154, "nfsservctl": 180,
}  # fmt: skip
_AARCH64 = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "add_key": 217, "request_key": 218, "keyctl": 219,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39,
    "pivot_root": 41, "chroot": 51, "open_by_handle_at": 265, "init_module": 105, "finit_module": 273,
    "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294, "reboot": 142, "swapon": 224, "swapoff": 225,
    "acct": 89, "kcmp": 272, "syslog": 116, "clock_settime": 112, "settimeofday": 170, "adjtimex": 171,
    "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162, "fanotify_init": 262, "quotactl": 60,
    "vhangup": 58, "lookup_dcookie": 18, "nfsservctl": 42,
}  # fmt: skip
# Newer calls have one number everywhere.
_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442,
    "process_madvise": 440, "memfd_secret": 447, "process_mrelease": 448,
}  # fmt: skip
_CLONE3 = 435
# machine: (AUDIT_ARCH of linux/audit.h, number of clone, of socket, the others)
_MACHINES: Mapping[str, tuple[int, int, int, Mapping[str, int]]] = {
    "x86_64": (0xC000003E, 56, 41, _X86_64),
    "aarch64": (0xC00000B7, 220, 198, _AARCH64),
}
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h.
_NEW_NAMESPACES = 0x7E020000
# x32 calls share the architecture of x86-64 and have this bit (asm/unistd.h).
_X32 = 0x40000000
# Instructions: load word, jump if equal, greater or equal, any bit set; return (linux/bpf_common.h).
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# Offsets in struct seccomp_data; the low word of the first argument comes first on these little-endian machines.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def system_call_filter(machine: str | None = None, *, sockets: bool = True) -> bytes | None:
    """Return the program for `machine` (this one), None for an architecture whose numbers we do not know.

    Without `sockets`, none can be made; a pair of connected ones, which leads nowhere, still can.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    architecture, clone, socket, numbers = known
    denied = [*numbers.values(), *_EVERYWHERE.values(), *(() if sockets else (socket,))]
    deny, allow = _ERRNO | errno.EPERM, _ALLOW
    program: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, deny),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, deny),
    ]
    for number in denied:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, deny)]
    # The C library falls back to clone where clone3, whose flags a filter cannot see, is not there.
    program += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    program += [
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, deny),
        (_RETURN, 0, 0, allow),
    ]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)

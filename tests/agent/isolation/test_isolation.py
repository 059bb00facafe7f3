"""Filters, control groups and devices: what is asked of the kernel is what was meant."""

import errno
import re
import struct
from pathlib import Path

import pytest

from agent.isolation import seccomp
from agent.isolation.bubblewrap import wrap_bubblewrap
from agent.isolation.cgroup import cgroup_layers, make_cgroup
from agent.isolation.devices import ascend_devices, nvidia_devices
from agent.isolation.records import SandboxPolicy, limits

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_numbers_of_system_calls_are_those_of_the_kernel(machine):
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"{header} is not here: apt-get install linux-libc-dev")
    known = {name: int(n) for name, n in re.findall(r"define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())}
    _, clone, socket, numbers = seccomp._MACHINES[machine]
    ours = {**numbers, **seccomp._EVERYWHERE, "clone": clone, "socket": socket, "clone3": seccomp._CLONE3}
    assert ours == {name: known[name] for name in ours}


def evaluate(program: bytes, number: int, argument: int = 0, architecture: int = 0xC000003E) -> int:
    """Run a classic BPF program as the kernel does; returns its answer."""
    words = {0: number, 4: architecture, 16: argument}
    at = loaded = 0
    instructions = list(struct.iter_unpack("<HBBI", program))
    while True:
        code, yes, no, k = instructions[at]
        if code == 0x06:
            return k
        if code == 0x20:
            loaded, at = words[k], at + 1
            continue
        holds = {0x15: loaded == k, 0x35: loaded >= k, 0x45: bool(loaded & k)}[code]
        at += 1 + (yes if holds else no)


def test_the_filter_denies_what_it_names_and_nothing_else():
    allow, deny = 0x7FFF0000, 0x00050000 | errno.EPERM
    program = seccomp.system_call_filter("x86_64") or b""
    denied = {number for number in range(600) if evaluate(program, number) != allow}
    assert denied == {*seccomp._X86_64.values(), *seccomp._EVERYWHERE.values(), 435}
    assert evaluate(program, 56, 0x10000000) == deny  # clone with a new user namespace
    assert evaluate(program, 56, 0x00010000) == allow  # a thread
    assert evaluate(program, 1 | 0x40000000) == deny  # x32
    assert evaluate(program, 1, architecture=0x40000003) == deny  # 32-bit calls
    assert evaluate(program, 41) == allow
    assert evaluate(seccomp.system_call_filter("x86_64", sockets=False) or b"", 41) == deny
    assert seccomp.system_call_filter("riscv64") is None


@pytest.mark.skipif(not cgroup_layers(), reason="no control group can be made here")
def test_a_control_group_is_below_ours_with_its_limits_and_goes():
    made = make_cgroup(256 << 20)
    assert made is not None
    texts = {file.name: file.read_text().strip() for folder in made.folders for file in folder.glob("*.*")
             if file.name in {"memory.max", "memory.limit_in_bytes", "pids.max"}}  # fmt: skip
    assert set(texts.values()) == {str(256 << 20), "256"}
    assert not made.out_of_memory()
    made.remove()
    assert not any(folder.exists() for folder in made.folders)


def test_devices_are_passed_through_only_when_named_and_without_a_limit_on_virtual_memory(tmp_path):
    for name in ("nvidiactl", "nvidia0", "nvidia1", "nvidia-uvm", "davinci0", "davinci_manager"):
        (tmp_path / name).write_text("")
    gpu, npu = nvidia_devices([1], tmp_path), ascend_devices([0], tmp_path)
    assert {node.name for node in gpu.nodes} == {"nvidiactl", "nvidia1", "nvidia-uvm"}
    assert {node.name for node in npu.nodes} == {"davinci0", "davinci_manager"}
    assert gpu.environment["CUDA_VISIBLE_DEVICES"] == "1"
    with_gpu = SandboxPolicy(devices=gpu)
    words = wrap_bubblewrap(("true",), with_gpu, {}).command
    assert str(tmp_path / "nvidia1") in words
    assert str(tmp_path / "nvidia0") not in words
    assert "as" not in limits(with_gpu, None)
    assert "as" in limits(SandboxPolicy(), None)
    assert not any("dev-bind" in word for word in wrap_bubblewrap(("true",), SandboxPolicy(), {}).command)

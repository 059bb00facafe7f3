"""The device files and driver folders that a program needs to use an accelerator in the sandbox.

A driver's own calls (ioctl) are then open to the program: that is a weaker boundary than without a device.
"""

from __future__ import annotations

import grp
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.isolation.records import Devices

# NVIDIA's driver: control and memory-manager nodes, and the capability nodes of MIG instances
# (NVIDIA/nvidia-container-toolkit, docs on device nodes; NVIDIA MIG user guide, "Device nodes and capabilities").
_NVIDIA = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
_NVIDIA_CAPABILITIES = "nvidia-caps"
# Huawei's driver: manager, shared virtual memory, and the host's channel to the device; its folders and tools
# (Ascend/mind-cluster, Ascend Docker Runtime: default mounts).
_ASCEND = ("davinci_manager", "devmm_svm", "hisi_hdc")
_ASCEND_FOLDERS = (
    "/usr/local/Ascend",
    "/usr/local/dcmi",
    "/usr/local/sbin",
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
)
_ASCEND_GROUP = "HwHiAiUser"
# Drivers ask the kernel about the bus and the processors' memory nodes.
_KERNEL = (Path("/sys"),)


def nvidia_devices(numbers: Sequence[int] = (0,), dev: Path = Path("/dev")) -> Devices:
    """Return what CUDA needs for the GPUs of these numbers."""
    names = [*_NVIDIA, *(f"nvidia{number}" for number in numbers)]
    nodes = [dev / name for name in names] + list(_under(dev / _NVIDIA_CAPABILITIES))
    environment = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, numbers)), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return Devices(_there(nodes), _KERNEL, environment)


def ascend_devices(numbers: Sequence[int] = (0,), dev: Path = Path("/dev")) -> Devices:
    """Return what CANN needs for the NPUs of these numbers."""
    nodes = [dev / name for name in (*_ASCEND, *(f"davinci{number}" for number in numbers))]
    readable = (*_KERNEL, *(Path(folder) for folder in _ASCEND_FOLDERS if Path(folder).exists()))
    environment = {"ASCEND_RT_VISIBLE_DEVICES": ",".join(map(str, numbers))}
    return Devices(_there(nodes), readable, environment, tuple(_group_ids(_ASCEND_GROUP)))


def _there(nodes: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(node for node in nodes if node.exists())


def _under(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(folder.iterdir())


def _group_ids(name: str) -> Iterator[int]:
    try:
        yield grp.getgrnam(name).gr_gid
    except KeyError:  # a machine without the driver
        return

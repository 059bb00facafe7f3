"""The accelerator as PyTorch gives it: CUDA, or an NPU through torch_npu (that side has not been run by us).

`cpu` works too, with the clock of the host: so that a bundle can be tried where there is no device.
"""

from __future__ import annotations

import importlib.util
import platform
import subprocess
import time
from typing import Any

import torch

_MIB = 1 << 20
# Read before each timed run. Twice the last-level cache, at least this: then nothing of the inputs is left in it.
_LEAST_FLUSH_BYTES = 128 * _MIB
_RESERVED_BYTES = 5120 * _MIB


class HostEvent:
    """A moment on the host's clock, with the interface of a device's event."""

    def record(self) -> None:
        """Take the time now."""
        self.seconds = time.perf_counter()

    def elapsed_time(self, end: HostEvent) -> float:
        """Return the milliseconds until `end`."""
        return (end.seconds - self.seconds) * 1e3


class Accelerator:
    """Events, graphs and memory of one device type (`cuda`, `npu` or `cpu`)."""

    def __init__(self, name: str) -> None:
        if name == "npu":
            import torch_npu  # type: ignore[import-not-found]  # noqa: F401, PLC0415 - registers torch.npu
        self.name = name
        self.module: Any = getattr(torch, name)
        self._flush: Any = None

    def reserve(self) -> None:
        """Let PyTorch's allocator take memory once, before the time counts: on a virtual machine that takes long."""
        if self.name == "cuda":
            torch.empty(_RESERVED_BYTES, dtype=torch.uint8, device=self.name)

    @property
    def cache_policy(self) -> str:
        """Say what the last-level cache holds when a timed run starts."""
        return "as it is" if self.name == "cpu" else "cold: filled with clean lines of another buffer before each run"

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.name != "cpu":
            self.module.synchronize()

    def event(self) -> Any:
        """Return an event that takes the time."""
        return HostEvent() if self.name == "cpu" else self.module.Event(enable_timing=True)

    def cool_cache(self) -> None:
        """Fill the last-level cache with clean lines of a buffer that no kernel uses."""
        if self.name == "cpu":
            return
        if self._flush is None:
            size = getattr(self.module.get_device_properties(0), "L2_cache_size", 0)
            self._flush = torch.zeros(max(2 * size, _LEAST_FLUSH_BYTES) // 4, dtype=torch.int32, device=self.name)
            self._sink = torch.zeros((), dtype=torch.int64, device=self.name)
        torch.sum(self._flush, dim=0, out=self._sink)

    def graph(self, call: Any) -> Any:
        """Capture one call in a graph and return what replays it; None where that cannot be done."""
        if self.name != "cuda":
            return None
        side = self.module.Stream()
        side.wait_stream(self.module.current_stream())
        with self.module.stream(side):
            call()
        self.module.current_stream().wait_stream(side)
        graph = self.module.CUDAGraph()
        try:
            with self.module.graph(graph):
                call()
        except RuntimeError:  # the host waits for the device in between
            self.synchronize()
            return None
        return graph.replay

    def describe(self) -> dict[str, Any]:
        """Name device, driver and the versions of what made the code."""
        versions = {"torch": torch.__version__, "triton": triton_version()}
        if self.name == "cpu":
            return {"device": platform.processor() or platform.machine(), **versions}
        properties = self.module.get_device_properties(0)
        return {
            "device": properties.name,
            "multiprocessors": getattr(properties, "multi_processor_count", None),
            "l2_bytes": getattr(properties, "L2_cache_size", None),
            "memory_bytes": properties.total_memory,
            **versions,
            "runtime": torch.version.cuda if self.name == "cuda" else getattr(torch.version, "cann", None),
        }


def triton_version() -> str:
    """Return Triton's version, "" where there is none."""
    if importlib.util.find_spec("triton") is None:
        return ""
    import triton  # type: ignore[import-not-found]  # noqa: PLC0415 - the Ascend one needs the device's environment

    return str(triton.__version__)


_QUERY = "driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active"


def read_state(name: str) -> dict[str, str]:
    """Return clocks, temperature, power and the reasons for throttling as the driver tells them now."""
    if name != "cuda":
        return {}
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader", "-i", "0"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return {"unknown": str(error)}
    return dict(zip(_QUERY.split(","), (part.strip() for part in told.strip().split(",")), strict=False))

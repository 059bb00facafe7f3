"""CSV of Nsight Compute: `ncu --csv` prints a row a metric, `--page raw` a row a kernel.

Format: https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html, section on console output; read as version
2025.3.1 wrote it on an H200.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from agent.profile.ascend import Reading
from agent.profile.limiter import name_limiter
from agent.profile.records import KernelProfile
from agent.profile.tables import Row, missing, number, read_rows
from indexer.messages import message

# Metrics by the name of the details page and of the raw page; throughputs are in percent of the peak.
_MEMORY = (
    "memory throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "dram throughput",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
)  # fmt: skip
_COMPUTE = ("compute (sm) throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed")
_TENSOR = (
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
)
_SAME = 0.98  # the throughput of a multiprocessor is that of its busiest unit: the tensor unit where both are equal
_TIME = ("duration", "gpu__time_duration.sum")
_READ, _WRITTEN = ("dram__bytes_read.sum",), ("dram__bytes_write.sum",)
_UNITS = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3, "second": 1e6, "s": 1e6}
_KERNEL = "kernel name"


def read_ncu(path: Path) -> Reading:
    """Read the kernels of an ncu CSV; of several launches of one the last stands."""
    rows = read_rows(path)
    if _KERNEL in missing(rows, [_KERNEL]):
        return Reading(notes=[message("profile.unusable", path=path, columns="Kernel Name")])
    by_launch: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    units: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    shared: dict[str, str] = {}
    for row in rows:
        key = (row.get("id", ""), row[_KERNEL])
        launch = by_launch[key]
        if "metric name" in row:
            name = row["metric name"].lower()
            if row.get("metric unit") == "%" or name not in launch:  # "Memory Throughput" comes in bytes too
                launch[name], units[key][name] = row.get("metric value", ""), row.get("metric unit", "")
        elif row[_KERNEL]:
            launch.update(row)
        else:
            shared.update(row)  # the second line of the raw page holds units
    found = Reading()
    for key, metrics in by_launch.items():
        if key[1]:
            found.kernels.append(_profile(path, key[1], metrics, {**shared, **units[key]}))
    if not any(profile.busy for profile in found.kernels):
        found.notes.append(message("profile.missing", path=path, columns=f"{_MEMORY[0]}, {_COMPUTE[0]}"))
    return found


def _profile(path: Path, kernel: str, metrics: Row, units: Row) -> KernelProfile:
    busy = {}
    memory, compute, tensor = (number(metrics, *names) for names in (_MEMORY, _COMPUTE, _TENSOR))
    if memory is not None:
        read, written = number(metrics, *_READ) or 0.0, number(metrics, *_WRITTEN) or 0.0
        busy["store" if written > read else "load"] = memory / 100
    if compute is not None and (tensor or 0.0) < _SAME * compute:
        busy["vector"] = compute / 100
    if tensor is not None:
        busy["cube"] = tensor / 100
    time = number(metrics, *_TIME)
    unit = next((units[name] for name in _TIME if name in units and name in metrics), "")
    us = None if time is None else time * _UNITS.get(unit.strip().lower(), 1e-3)
    return KernelProfile(kernel, "ncu", (path,), us, name_limiter(busy, (), us), busy)

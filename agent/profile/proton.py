"""JSON of Proton, Triton's profiler: a tree of frames with times; it tells how long, not what limits.

Format: https://github.com/triton-lang/triton/tree/main/third_party/proton, "hatchet" output. Read as
triton 3.6.0 wrote it on an H200.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.profile.ascend import Reading
from agent.profile.records import KernelProfile
from indexer.messages import message

_TIMES = {"time (ns)": 1e-3, "time (us)": 1.0, "time (ms)": 1e3, "time (s)": 1e6}


def read_proton(path: Path) -> Reading:
    """Read the time of each kernel, a leaf of the tree: the mean of its launches."""
    document = json.loads(path.read_text(encoding="utf-8"))
    times: dict[str, float] = defaultdict(float)
    counts: dict[str, float] = defaultdict(float)
    for root in document if isinstance(document, list) else [document]:
        for name, us, count in _leaves(root):
            times[name] += us
            counts[name] += count
    if not times:
        return Reading(notes=[message("profile.unusable", path=path, columns="frame, metrics, time (ns)")])
    kernels = [KernelProfile(name, "proton", (path,), us / (counts[name] or 1)) for name, us in times.items()]
    return Reading(kernels, [message("profile.only_times", path=path)])


def _leaves(node: Any) -> Iterator[tuple[str, float, float]]:
    """Yield name, microseconds and launches of each frame without children that has a time."""
    if not isinstance(node, Mapping):
        return
    children = node.get("children") or []
    for child in children if isinstance(children, list) else []:
        yield from _leaves(child)
    frame, metrics = node.get("frame"), node.get("metrics")
    if children or not isinstance(frame, Mapping) or not isinstance(metrics, Mapping):
        return
    for name, value in metrics.items():
        scale = _TIMES.get(str(name).lower())
        if scale is not None and isinstance(value, int | float):
            yield str(frame.get("name", "")), value * scale, float(metrics.get("count", metrics.get("Count", 1)) or 1)

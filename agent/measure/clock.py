"""Time of one call on a device: graph replays, cold cache, groups of samples until two groups agree."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from .accelerator import Accelerator

# Two groups agree when their medians differ by less than this share.
AGREEMENT = 0.03
MOST_GROUPS = 8
# A group is about this long, within these numbers of replays.
_GROUP_MS = 40.0
_LEAST_REPLAYS, _MOST_REPLAYS = 15, 200
_WARM_UP = 3


class Stopwatch:
    """One call made ready for timing on `accelerator`."""

    def __init__(self, accelerator: Accelerator, call: Callable[[], Any]) -> None:
        self._accelerator = accelerator
        for _ in range(_WARM_UP):
            call()
        accelerator.synchronize()
        replay = accelerator.graph(call)
        self.method = "events" if replay is None else "graph replay"
        self._replay: Callable[[], Any] = call if replay is None else replay

    def sample(self, replays: int) -> list[float]:
        """Time single replays, each after the cache was filled with other data; microseconds."""
        pairs = []
        for _ in range(replays):
            self._accelerator.cool_cache()
            start, end = self._accelerator.event(), self._accelerator.event()
            start.record()
            self._replay()
            end.record()
            pairs.append((start, end))
        self._accelerator.synchronize()
        return [start.elapsed_time(end) * 1e3 for start, end in pairs]

    def measure(self) -> dict[str, Any]:
        """Sample groups until two in a row agree; tell median, spread and every group's median."""
        first = statistics.median(self.sample(5))
        replays = int(min(_MOST_REPLAYS, max(_LEAST_REPLAYS, _GROUP_MS * 1e3 / first)))
        groups = [self.sample(replays), self.sample(replays)]
        while not _agree(groups[-2], groups[-1]) and len(groups) < MOST_GROUPS:
            groups.append(self.sample(replays))
        pooled = sorted([*groups[-2], *groups[-1]])
        low, middle, high = statistics.quantiles(pooled, n=4)
        return {
            "us": middle,
            "quartiles_us": [low, high],
            "spread": (high - low) / middle,
            "agreed": _agree(groups[-2], groups[-1]),
            "groups_us": [statistics.median(group) for group in groups],
            "replays": replays,
            "method": self.method,
            "l2": self._accelerator.cache_policy,
        }


def _agree(first: list[float], second: list[float]) -> bool:
    a, b = statistics.median(first), statistics.median(second)
    return abs(a - b) <= AGREEMENT * min(a, b)

"""A Ray cluster as helpers: `ray` starts one on this machine, `ray://HOST:PORT` is the Ray client of another.

Only this module imports ray, which is an extra.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any, TypeVar

from indexer.chunk import CHUNKER_VERSION
from indexer.crew import AHEAD, RAY, Spent, ahead
from indexer.errors import BadInput, StoreError, TritonkbError
from indexer.records import SYMBOLS_VERSION

T = TypeVar("T")
R = TypeVar("R")


class RayCrew:
    """The workers of a Ray cluster, all of which need the same tritonkb."""

    def __init__(self, jobs: str) -> None:
        # Read when ray is loaded.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise BadInput("index.no_ray") from error
        self._ray = ray
        self._address = jobs
        try:
            if jobs == RAY:
                ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
            else:
                ray.init(address=jobs, log_to_driver=False, logging_level=logging.ERROR)
            self._most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        except Exception as error:  # Ray raises Exception itself
            raise StoreError("index.cluster_failed", address=jobs, reason=_first_line(error)) from error

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Yield `work(part)` for each part, in order; raises what the work raises, `StoreError` for a lost cluster."""
        task, made = self._ray.remote(_do), _made_by()
        failures: Any = import_module("ray.exceptions")
        try:
            for begun in ahead(lambda part: task.remote(made, work, part), parts, self._most):
                yield self._ray.get(begun)
        except failures.RayTaskError as error:
            if isinstance(error.cause, TritonkbError):
                raise error.cause from error
            raise StoreError("index.cluster_failed", address=self._address, reason=_last_line(error)) from error
        except (failures.RayError, ConnectionError) as error:
            raise StoreError("index.cluster_failed", address=self._address, reason=_first_line(error)) from error

    def close(self) -> Spent:
        """Leave the cluster; end it where it was started here. What it took is not counted."""
        self._ray.shutdown()
        return Spent()


def _do(made: str, work: Callable[[T], R], part: T) -> R:
    """Do a part on a node; raises `StoreError` on one whose tritonkb would give another result."""
    if made != _made_by():
        raise StoreError("index.other_node", here=made, node=_made_by())
    return work(part)


def _made_by() -> str:
    return f"{version('tritonkb')}, chunker {CHUNKER_VERSION}, symbols {SYMBOLS_VERSION}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _last_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]

"""The fastest right candidate of one kernel: compiled ahead, then timed a little, the better ones again and longer."""

from __future__ import annotations

import contextlib
import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from .accelerator import Accelerator, triton_version
from .checking import Case, Wrong, check_all
from .clock import Stopwatch
from .hosts import copied
from .plan import Plan

# Replays of each round, and the share that goes on to the next.
_REPLAYS = (4, 12, 40)
_SURVIVING = 0.3
_LEAST_SURVIVING = 4
# Elements of one tile a thread; beyond twice its registers a kernel only spills.
_MOST_A_THREAD = 256


class Search:
    """What is known of the candidates; written down after each, because one may take the process with it."""

    def __init__(self, progress: Path) -> None:
        self._progress = progress
        told = json.loads(progress.read_text(encoding="utf-8")) if progress.exists() else {}
        self.failed: dict[str, str] = told.get("failed", {})
        self.us: dict[str, float] = {}
        if told.get("now"):
            self.failed[told["now"]] = "the process ended in it"

    @contextlib.contextmanager
    def trying(self, name: str) -> Iterator[None]:
        """Note the candidate that is tried; what it raises makes it a failed one."""
        self._write(name)
        try:
            yield
        except Wrong as error:
            self.failed[name] = f"wrong: {error}"
        except Exception as error:  # noqa: BLE001 - a candidate may raise anything; it is out then
            self.failed[name] = f"{type(error).__name__}: {error}"[:300]
            if "illegal" in str(error) or "misaligned" in str(error):  # the device's context is gone
                self._write("")
                raise
        self._write("")

    def alive(self, names: Mapping[str, Any]) -> list[str]:
        """Return the candidates that have not failed, the fastest so far first."""
        return sorted((n for n in names if n not in self.failed), key=lambda n: self.us.get(n, 0.0))

    def _write(self, now: str) -> None:
        self._progress.write_text(json.dumps({"failed": self.failed, "now": now}), encoding="utf-8")


def explore(
    modules: Mapping[str, ModuleType],
    cases: list[Case],
    plan: Plan,
    alone: Callable[[], AbstractContextManager[Accelerator]],
    progress: Path,
) -> dict[str, Any]:
    """Search among `modules` (name -> candidate); the result names the best and what became of each."""
    search = Search(progress)
    given = copied(cases[0].inputs)  # what works in place changes them
    for name in search.alive(modules):
        with search.trying(name):
            compile_only(lambda module=modules[name]: module.run(*given))  # type: ignore[misc]
    with alone() as accelerator:
        for round_number, replays in enumerate(_REPLAYS):
            for name in survivors(search.alive(modules), round_number):
                with search.trying(name):
                    if round_number == 1:  # before: how fast a wrong one is does no harm
                        check_all(cases[:1], modules[name].run)
                    watch = Stopwatch(accelerator, lambda module=modules[name]: module.run(*given))
                    search.us[name] = statistics.median(watch.sample(replays))
        best = first_right(search, modules, cases)
    return {"best": best, "us": search.us, "failed": search.failed}


def survivors(ranked: list[str], round_number: int) -> list[str]:
    """Return who is timed in a round: all, then the better part, then the better part of these."""
    count = len(ranked)
    for _ in range(round_number):
        count = min(count, max(_LEAST_SURVIVING, int(count * _SURVIVING)))
    return ranked[:count]


def first_right(search: Search, modules: Mapping[str, ModuleType], cases: list[Case]) -> str:
    """Return the fastest that is right in every case; "" when none is."""
    for name in search.alive(modules):
        with search.trying(name):
            check_all(cases, modules[name].run)
            return name
    return ""


def compile_only(call: Callable[[], Any]) -> None:
    """Let a host compile the kernels that it launches, without running them."""
    if not triton_version():
        return
    from triton.runtime.jit import JITFunction  # type: ignore[import-not-found]  # noqa: PLC0415 - see `Accelerator`

    launch = JITFunction.run

    def warm(self: Any, *args: Any, **options: Any) -> Any:
        refuse_too_large(self.src, options)
        return launch(self, *args, **{**options, "warmup": True})

    JITFunction.run = warm
    try:
        with torch.no_grad():
            call()
    finally:
        JITFunction.run = launch


def refuse_too_large(source: str, options: dict[str, Any]) -> None:
    """Raise for a tile that leaves each thread so many elements that compiling it takes minutes, for nothing."""
    sizes = [value for name, value in options.items() if name.isupper() and type(value) is int]
    lanes = 32 * int(options.get("num_warps", 4))
    if ".dot(" not in source and math.prod(sizes) > _MOST_A_THREAD * lanes:
        raise ValueError(f"{math.prod(sizes)} elements for {lanes} threads")

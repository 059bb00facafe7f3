"""The fastest right candidate of one kernel: compiled ahead, then timed a little, the better ones again and longer."""

from __future__ import annotations

import contextlib
import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from .accelerator import Accelerator, triton_version
from .checking import Case, Wrong, check_all, split_cases
from .clock import Stopwatch
from .hosts import copied

# Replays of each round, and the share that goes on to the next.
_REPLAYS = (4, 12, 40)
_SURVIVING = 0.3
_LEAST_SURVIVING = 4
# Elements of one tile a thread: it has 255 registers, and a kernel holds more than one tile.
_MOST_A_THREAD = 256
_MOST_COMPILED = 48


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
        except Exception as error:
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
    notes: Mapping[str, str],
    cases: list[Case],
    alone: Callable[[], AbstractContextManager[Accelerator]],
    progress: Path,
) -> dict[str, Any]:
    """Search among `modules` (name -> candidate); the result names the best and what became of each.

    `notes` begin with the form of a candidate's source, up to a comma: each form has its share of what is tried.
    """
    search = Search(progress)
    given = copied(cases[0].inputs)  # what works in place changes them
    tried = {name: modules[name] for name in worth_compiling(search, modules, notes, given)}
    for name in search.alive(tried):
        with search.trying(name):
            compile_only(partial(tried[name].run, *given))
    large, small = split_cases(cases)
    check_all(small, modules["initial"].run)
    with alone() as accelerator:
        for round_number, replays in enumerate(_REPLAYS):
            for name in survivors(search.alive(tried), round_number):
                with search.trying(name):
                    if round_number == 1:  # before: how fast a wrong one is does no harm
                        check_all(large[:1], tried[name].run)
                    watch = Stopwatch(accelerator, partial(tried[name].run, *given))
                    search.us[name] = statistics.median(watch.sample(replays))
        best = first_right(search, tried, [*large, *small])
    return {"best": best, "us": search.us, "failed": search.failed, "tried": len(tried)}


def worth_compiling(
    search: Search, modules: Mapping[str, ModuleType], notes: Mapping[str, str], given: tuple[Any, ...]
) -> list[str]:
    """Return the candidates to compile: those whose tiles are of a sensible size, thinned evenly within each form."""
    forms: dict[str, list[str]] = {}
    for name in search.alive(modules):
        with search.trying(name):
            if name != "initial" and triton_version():
                launch_instead(partial(modules[name].run, *given), look_at_sizes)
            forms.setdefault(notes.get(name, "").partition(",")[0], []).append(name)
    kept = ["initial"]
    rest = sorted((names for form, names in forms.items() if form), key=len)
    for number, names in enumerate(rest):
        share = max(1, (_MOST_COMPILED - len(kept)) // (len(rest) - number))
        taken = min(share, len(names))
        kept += [names[i * len(names) // taken] for i in range(taken)]
    return kept


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
    if triton_version():
        launch_instead(call, lambda launch, kernel, args, options: launch(kernel, *args, **{**options, "warmup": True}))


def launch_instead(call: Callable[[], Any], do: Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Call a host with `do(launch, kernel, args, options)` in the place of each launch."""
    from triton.runtime.jit import JITFunction  # type: ignore[import-not-found]  # noqa: PLC0415 - see `Accelerator`

    launch = JITFunction.run
    JITFunction.run = lambda kernel, *args, **options: do(launch, kernel, args, options)
    try:
        call()
    finally:
        JITFunction.run = launch


def look_at_sizes(_launch: Any, kernel: Any, _args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Raise for a tile that leaves threads without work, or so much of it that compiling takes minutes, for nothing."""
    sizes = [value for name, value in options.items() if name.isupper() and type(value) is int]
    threads = 32 * int(options.get("num_warps", 4))
    # One size of a kernel with two axes is the side of a square.
    elements = sizes[0] ** 2 if len(sizes) == 1 and "[:, None]" in kernel.src else math.prod(sizes)
    if ".dot(" not in kernel.src and sizes and not threads <= elements <= _MOST_A_THREAD * threads:
        raise ValueError(f"{elements} elements for {threads} threads")

"""Stands in for `JITFunction.run` and the autotuner: a launch is recorded, or handed to a compiled library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devices import HostMode
from launches import Call, bind
from rejection import Abandon
from triton.compiler.compiler import make_backend
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

LAUNCH_LIMIT = 4096


class TooManyLaunches(Abandon):
    """The host made more distinct launches than we record."""


class RecordedKernel:
    """What a launch returns: answers for the few things that hosts ask of a compiled kernel."""

    n_regs = 32
    n_spills = 0
    asm: dict[str, str] = {}  # noqa: RUF012 - an answer, not state

    def __init__(self, launch: Callable[..., Any]) -> None:
        self._launch = launch
        self.metadata = self
        self.shared = 1  # what Triton-Ascend reports for every kernel
        self.num_warps = 4

    def _init_handles(self) -> None:
        """Do nothing: there is no handle."""

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._launch(grid, *args, **kwargs)


class Choice:
    """Takes one configuration of each autotuner, by its number, in place of measuring them; counts what there are."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.most = 0

    def bench(self, tuner: Any, *_args: Any, config: Any, **_meta: Any) -> list[float]:
        """Give the chosen configuration the best time; where it was pruned away, the first one wins."""
        self.most = max(self.most, len(tuner.configs))
        chosen = next((n for n, other in enumerate(tuner.configs) if other is config), -1) == self.number
        return [0.0 if chosen else 1.0] * 3


class Recorder:
    """Collects the distinct launches of one host, in order of first appearance."""

    def __init__(self, target_options: dict[str, Any]) -> None:
        self.calls: dict[str, Call] = {}
        self.target_options = target_options
        self.values_read = False
        self.launched = False
        self.kernels: dict[str, None] = {}
        self.rebind: Callable[[Call], Call] = lambda call: call
        self.on_call: Callable[[Call], None] | None = None
        self.choice: Choice | None = None
        self._group = ""
        self._groups = 0
        self._tuning: Any = None
        self.mode: HostMode | None = None

    def install(self) -> None:
        """Replace Triton's launch path in this process."""
        recorder = self

        def run(fn: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> RecordedKernel:
            if not warmup:
                recorder.record(fn, args, grid, kwargs)
            constants = {k: v for k, v in kwargs.items() if k != "warmup"}
            return RecordedKernel(lambda grid, *a, **k: recorder.record(fn, a, grid, {**constants, **k}))

        def bench(tuner: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
            return recorder.bench(tuner, args, config, meta)

        JITFunction.run = run
        Autotuner._bench = bench  # noqa: SLF001 - the only door

    def record(self, fn: JITFunction, args: Any, grid: Any, kwargs: dict[str, Any]) -> None:
        """Record one call; the same call again only counts."""
        backend = make_backend(driver.active.get_current_target())
        self.add(self.rebind(bind(fn, backend, self.target_options, args, grid, kwargs)))

    def add(self, call: Call) -> None:
        """Keep a bound call, and run it where there is someone to run it."""
        call.data_dependent = self.values_read
        kept = self.calls.setdefault(call.identity(), call)
        kept.group = kept.group or self._group
        if not self._group:
            kept.count += 1
        if len(self.calls) > LAUNCH_LIMIT:
            raise TooManyLaunches
        self.launched = True
        self.kernels[call.fn.__name__] = None
        if self.on_call is not None and not self._group:
            self.on_call(call)

    def bench(self, tuner: Any, args: Any, config: Any, meta: dict[str, Any]) -> list[float]:
        """Stand in for one measurement: record the configuration, or say whether it is the chosen one."""
        if self.choice is not None:
            return self.choice.bench(tuner, config=config)
        if tuner.nargs is not self._tuning:
            self._tuning = tuner.nargs
            self._groups += 1
        current = {**meta, **config.all_kwargs()}
        full = {**tuner.nargs, **current}
        self._group = f"{tuner.base_fn.__name__}#{self._groups}"
        try:
            if config.pre_hook:
                config.pre_hook(full)
            tuner.pre_hook(full)
            tuner.fn.run(*args, **current)
            tuner.post_hook(full, exception=None)
        finally:
            self._group = ""
        return [1.0, 1.0, 1.0]

    def note_read(self) -> None:
        """Remember that the host read a value which, after a launch, nobody has computed."""
        if self.launched or (self.mode is not None and self.mode.meta):
            self.values_read = True

    def finished(self) -> list[Call]:
        """Give all calls; the members of a group share the count of the one that the host then ran."""
        counts: dict[str, int] = {}
        for call in self.calls.values():
            if call.group:
                counts[call.group] = counts.get(call.group, 0) + call.count
        for call in self.calls.values():
            if call.group:
                call.count = max(1, counts[call.group])
        return list(self.calls.values())

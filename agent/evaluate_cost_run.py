"""Predictions for published timings: each row's launch is found in its file, compiled once, and costed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.capture import Capture, CapturedLaunch, capture
from agent.edit_names import with_names
from agent.evaluate_cost import Predicted, Timing
from agent.perf.constants import Constants, without_case
from agent.perf.predict import predict, sum_costs
from agent.perf.remarks import is_doubtful
from agent.records import Compilation, Cost, Entry, KernelSource
from agent.request import read_source
from agent.sandbox import SandboxPolicy
from agent.toolchain.ascend import compile_ttir
from agent.toolchain.client import Worker
from agent.toolchain.install import AscendInstall, find_ascend
from agent.toolchain.targets import Target, find_target
from agent.toolchain.warm import lend_worker
from indexer.errors import BadInput, SandboxError

_DTYPE = "DTYPE"
_SHAPE = "SHAPE"
# How a kernel file spells the types that a row names.
_TORCH_NAMES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_NARROWER = "float16"


@dataclass(slots=True)
class CostBench:
    """Captures and compiles what timings are of; each file's text is captured once, each launch compiled once."""

    worker: Worker
    install: AscendInstall
    folders: Sequence[Path]
    captures: dict[tuple[str, str, str], Capture] = field(default_factory=dict)
    compiled: dict[tuple[str, str, str, int], Compilation | None] = field(default_factory=dict)

    def launches(self, timing: Timing) -> list[Compilation | None]:
        """Return the launches of `timing` as they compile, None for one that Triton itself refuses.

        Raises `BadInput` when no file or no launch fits, `SandboxError` when the host hits a limit.
        """
        target = find_target(timing.target)
        source = self._source(timing)
        given = with_names(source.text, _overrides(timing))
        found = self._matching(source, given, timing, target)
        if found and all(_overflows(item) for item in found) and not timing.dtype:
            narrow = with_names(given, {_DTYPE: _NARROWER})
            if narrow != given:
                return self._matching(source, narrow, timing, target)
        return found

    def _source(self, timing: Timing) -> KernelSource:
        names = dict.fromkeys((timing.file, f"{timing.file}.py", Path(timing.file).name))
        for folder in self.folders:
            for name in names:
                if (folder / name).is_file():
                    return read_source(folder / name, Entry())
        raise BadInput("eval.no_kernel_of_timing", file=timing.file, folders=", ".join(map(str, self.folders)))

    def _matching(self, source: KernelSource, text: str, timing: Timing, target: Target) -> list[Compilation | None]:
        captured = self._capture(source, text, target)
        wanted = [i for i, item in enumerate(captured.launches) if has_config(item, timing.config)]
        if not wanted and timing.config:
            text = with_names(text, timing.config)
            captured = self._capture(source, text, target)
            wanted = [i for i, item in enumerate(captured.launches) if has_config(item, timing.config)]
        if not wanted:
            raise BadInput("eval.no_launch_of_timing", file=source.path, config=dict(timing.config))
        # What else the host launches outside the group belongs to its time too.
        groups = {captured.launches[i].launch.group for i in wanted}
        others = [
            i for i, item in enumerate(captured.launches)
            if i not in wanted and not item.launch.group and groups != {""}
        ]  # fmt: skip
        return [self._compile(text, captured, i, target) for i in (*wanted, *others)]

    def _capture(self, source: KernelSource, text: str, target: Target) -> Capture:
        key = (str(source.path), text, target.name)
        if key not in self.captures:
            self.captures[key] = capture(self.worker, KernelSource(source.path, text), target.name)
        return self.captures[key]

    def _compile(self, text: str, captured: Capture, number: int, target: Target) -> Compilation | None:
        item = captured.launches[number]
        if item.ttir is None:
            return None
        key = (captured.printed_file, text, target.name, number)
        if key not in self.compiled:
            made = compile_ttir(
                self.install, item.ttir, item.launch, target, captured.printed_file, None, every_pass=False
            )
            self.compiled[key] = replace(made, snapshots=())  # nobody asks for them here, and they are large
        return self.compiled[key]


def predict_timings(
    timings: Sequence[Timing], folders: Sequence[Path], policy: SandboxPolicy, on_case: Callable[[Predicted], None]
) -> Iterator[Predicted]:
    """Predict each timing; one that the constants were fitted on, with those that were fitted without its case."""
    install = find_ascend()
    with lend_worker(install, policy) as worker:
        bench = CostBench(worker, install, folders)
        for timing in timings:
            found = _predict(bench, timing)
            on_case(found)
            yield found


def _predict(bench: CostBench, timing: Timing) -> Predicted:
    try:
        made = bench.launches(timing)
    except (BadInput, SandboxError) as error:
        return Predicted(timing, None, None, note=str(error))
    constants, left_out = without_case(timing.case)
    start = time.process_time()
    cost = cost_of(made, find_target(timing.target), constants, cold=timing.cold)
    if cost is None:
        return Predicted(timing, None, None, note=_refusal(made))
    return Predicted(
        timing, cost.value, cost.baseline_us, cost.interval.low, cost.interval.high, cost.limiter,
        is_doubtful(cost), left_out, (time.process_time() - start) / len(made),
    )  # fmt: skip


def cost_of(made: Sequence[Compilation | None], target: Target, constants: Constants, *, cold: bool) -> Cost | None:
    """Return the cost of one run of a host: of a group its cheapest configuration, of all others the sum.

    None when a launch outside a group, or a whole group, does not compile.
    """
    single: list[Cost] = []
    groups: dict[str, list[Cost]] = {}
    for item in made:
        if item is None:
            continue
        costs = groups.setdefault(item.launch.group, []) if item.launch.group else single
        if item.hivm is not None and item.status == "ok":
            cost = predict(item, target, cold=cold, constants=constants)
            costs += [cost] if item.launch.group else [cost] * item.launch.count
        elif not item.launch.group:
            return None
    best = [min(group, key=lambda cost: cost.value) for group in groups.values() if group]
    return sum_costs([*single, *best]) if len(best) == len(groups) and (single or best) else None


def has_config(item: CapturedLaunch, config: Mapping[str, object]) -> bool:
    """Tell whether a launch was made with these constexprs or options."""
    known = {**item.launch.options, **item.launch.constexprs}
    return all(name in known and known[name] == value for name, value in config.items())


def _overrides(timing: Timing) -> dict[str, object]:
    """Return what a file may take from a row by the names `DTYPE` and `SHAPE`."""
    named: dict[str, object] = {}
    if timing.dtype:
        named[_DTYPE] = _TORCH_NAMES.get(timing.dtype, timing.dtype)
    if timing.shape:
        named[_SHAPE] = timing.shape
    return named


def _overflows(item: Compilation | None) -> bool:
    if item is None or item.status == "ok":
        return False
    resources = item.resources
    return resources.ub_bytes is not None and resources.ub_bytes > resources.ub_limit_bytes


def _refusal(made: Sequence[Compilation | None]) -> str:
    said = [d.message for item in made if item is not None for d in item.diagnostics if d.severity == "error"]
    return said[0] if said else "rejected"

"""How far predicted costs are from published timings, beside the bytes baseline.

    python bench/cost.py --kernels DIR --timings FILE [--target ascend910b4] [--warm]

FILE has one JSON object a line with `kernel` and `triton_us`; DIR holds `<kernel>.py` in any input form. A kernel with
autotune configurations is predicted as its cheapest one. Nothing is fitted here. The published timings of
mindspore-ai/akg@6ec75bd (see `akg_kernels.py`) were taken with an emptied L2 cache.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.capture import CapturedLaunch, capture
from agent.perf.predict import predict, sum_costs
from agent.records import Cost, KernelSource
from agent.sandbox import SandboxPolicy
from agent.toolchain.ascend import compile_ttir
from agent.toolchain.client import Worker
from agent.toolchain.install import AscendInstall, find_ascend
from agent.toolchain.targets import Target, find_target
from indexer.errors import TritonkbError
from indexer.messages import render


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel: what was measured, what is predicted, and how long predicting took after compilation."""

    kernel: str
    measured: float
    cost: Cost
    rejected: int
    seconds: float


def main() -> None:
    """Print each kernel and the summary of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True)
    parser.add_argument("--timings", type=Path, required=True)
    parser.add_argument("--target", default="ascend910b4")
    parser.add_argument("--warm", action="store_true", help="the L2 cache holds the data at the start")
    parser.add_argument("--remarks", action="store_true", help="print what weakens each prediction")
    given = parser.parse_args()
    rows = []
    for row in measure(given.kernels, given.timings, find_target(given.target), cold=not given.warm):
        rows.append(row)
        print(describe(row), flush=True)
        for note in row.cost.remarks if given.remarks else ():
            print("      " + render(note, "en"))
    print(summarise(rows))


def measure(kernels: Path, timings: Path, target: Target, *, cold: bool) -> Iterator[Row]:
    """Predict each kernel of `timings` that has a file; one that cannot be is printed and left out."""
    install = find_ascend()
    with Worker(install, SandboxPolicy()) as worker, tempfile.TemporaryDirectory() as scratch:
        for line in timings.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            file = kernels / f"{entry['kernel']}.py"
            if not file.exists():
                print(f"{entry['kernel']}: no file")
                continue
            try:
                yield predict_file(worker, install, file, target, Path(scratch), entry["triton_us"], cold=cold)
            except (TritonkbError, ValueError) as error:
                print(f"{entry['kernel']}: {error}")


def predict_file(  # noqa: PLR0913 - a script's one step
    worker: Worker, install: AscendInstall, file: Path, target: Target, scratch: Path, measured: float, *, cold: bool
) -> Row:
    """Capture, compile and predict all launches of one file; raises `ValueError` when none compiles."""
    found = capture(worker, KernelSource(file, file.read_text(encoding="utf-8")), target.name)
    single: list[Cost] = []
    groups: dict[str, list[Cost]] = {}
    rejected, seconds = 0, 0.0
    for item in found.launches:
        made = _compile(install, item, target, found.printed_file, scratch)
        if made is None or made.hivm is None:
            rejected += 1
            continue
        start = time.perf_counter()
        cost = predict(made, target, cold=cold)
        seconds += time.perf_counter() - start
        if item.launch.group:
            groups.setdefault(item.launch.group, []).append(cost)
        else:
            single += [cost] * item.launch.count
    best = [min(group, key=lambda cost: cost.value) for group in groups.values()]
    if not single and not best:
        raise ValueError("no launch compiles")
    return Row(file.stem, measured, sum_costs([*single, *best]), rejected, seconds / max(len(found.launches), 1))


def _compile(install: AscendInstall, item: CapturedLaunch, target: Target, printed_file: str, scratch: Path):  # noqa: ANN202
    if item.ttir is None:
        return None
    out = Path(tempfile.mkdtemp(dir=scratch))
    return compile_ttir(install, item.ttir, item.launch, target, printed_file, out)


def describe(row: Row) -> str:
    """Give one line for a kernel: times, their ratio, the split."""
    baseline = row.cost.baseline_us or 0.0
    terms = " ".join(f"{term}={time:.1f}" for term, time in row.cost.terms.items() if time >= 0.02 * row.cost.value)
    return (
        f"{row.kernel[:36]:36} measured {row.measured:9.2f}  predicted {row.cost.value:9.2f}  "
        f"ratio {row.cost.value / row.measured:5.2f}  bytes {baseline / row.measured:5.2f}  {row.cost.limiter:7} "
        f"{terms}  ({row.seconds:.2f} s, {row.rejected} rejected)"
    )


def summarise(rows: Sequence[Row]) -> str:
    """Give median and p90 of |predicted/measured - 1| and Spearman's rank correlation, model and baseline."""
    measured = [row.measured for row in rows]
    lines = [f"{len(rows)} kernels"]
    for name, values in (
        ("additive model", [row.cost.value for row in rows]),
        ("bytes baseline", [row.cost.baseline_us or 0.0 for row in rows]),
    ):
        errors = sorted(abs(value / true - 1) for value, true in zip(values, measured, strict=True))
        within = sum(error <= 0.35 for error in errors) / len(errors)
        p90 = errors[min(len(errors) - 1, round(0.9 * (len(errors) - 1)))]
        lines.append(
            f"{name}: median error {statistics.median(errors):.1%}, p90 {p90:.1%}, within 35 % {within:.0%}, "
            f"Spearman {statistics.correlation(_ranks(values), _ranks(measured)):.3f}"
        )
    return "\n".join(lines)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks, equal values sharing theirs."""
    ordered = sorted(values)
    return [(ordered.index(v) + len(ordered) - 1 - ordered[::-1].index(v)) / 2 for v in values]


if __name__ == "__main__":
    main()

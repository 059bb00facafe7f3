"""Fit the constants of the cost model to published timings, and find what they become without each case.

    python bench/cost.py TIMINGS.jsonl... --kernels DIR... [--cache FILE] [--write]

Kernels are compiled and followed once (`--cache` keeps that), then a few constants are fitted by least squares on the
logarithm of predicted/measured, large errors by their size only, with a weak pull to the values in `constants.toml`.
Each case, a kernel or all configurations of a sweep, is then left out: one more step of the same fit without it, from
the whole fit's values. `--write` puts the constants into `agent/perf/constants.toml`, and those of each left-out case
with the errors made there into `agent/perf/left_out.toml`, which `tritonkb eval cost` uses.
"""

from __future__ import annotations

import argparse
import math
import pickle
import re
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agent.evaluate_cost import Timing, read_timings, score
from agent.evaluate_cost_run import CostBench, cost_of
from agent.perf.constants import FITTED, Constants, load_constants, with_fitted
from agent.perf.experience import FAR, KINDS
from agent.perf.launch import Followed
from agent.perf.predict import follow, time_launch
from agent.records import Compilation, Launch
from agent.sandbox import SandboxPolicy
from agent.toolchain.client import Worker
from agent.toolchain.install import find_ascend
from agent.toolchain.targets import find_target

PERF = Path(__file__).parent.parent / "agent" / "perf"
PULL = 0.15  # weight of the logarithm of a constant's change, beside that of a timing's error
KNEE = 0.5  # from this error on (of the logarithm) more counts by its size, not its square
STEP = 0.03
ROUNDS = 8
RECURSION = 100_000  # IR is nested deeply, and so are its pickles
MOST = 0.7  # the most that one round changes the logarithm of a constant


@dataclass(frozen=True, slots=True)
class Row:
    """One timing with the launches that it is of; `weight` makes a sweep's many rows count for less."""

    timing: Timing
    launches: tuple[tuple[Launch, Followed], ...]
    weight: float


def main() -> None:
    """Fit, leave out, print, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("timings", type=Path, nargs="+")
    parser.add_argument("--kernels", type=Path, action="append", required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    made = compile_all([t for path in given.timings for t in read_timings(path)], given.kernels, given.cache)
    fit = Fit([row for timing, found in made if (row := follow_all(timing, found)) is not None], load_constants())
    fit.run()
    print("all cases:", describe(fit.rows, [fit.predict_row(row, fit.values) for row in fit.rows]))
    left = fit.leave_out()
    times = [fit.predict_row(row, left[row.timing.case]) for row in fit.rows]
    print("left out: ", describe(fit.rows, times))
    for name, value in zip(FITTED, fit.values, strict=True):
        print(f"{name:28} {value:.6g}")
    if given.write:
        write_constants(fit.values)
        write_left_out(left, made)


def compile_all(
    timings: Sequence[Timing], folders: Sequence[Path], cache: Path | None
) -> list[tuple[Timing, list[Compilation | None]]]:
    """Compile what each timing is of, or read it from `cache`."""
    if cache is not None and cache.exists():
        sys.setrecursionlimit(RECURSION)
        return pickle.loads(cache.read_bytes())  # noqa: S301 - the user's own file, made by this program
    with Worker(find_ascend(), SandboxPolicy()) as worker:
        bench = CostBench(worker, find_ascend(), folders)
        made = [(timing, bench.launches(timing)) for timing in timings]
    if cache is not None:
        sys.setrecursionlimit(RECURSION)
        cache.write_bytes(pickle.dumps(made))
    return made


def follow_all(timing: Timing, made: Sequence[Compilation | None]) -> Row | None:
    """Follow the launches of a timing that compile."""
    found = [(item.launch, follow(item)) for item in made if item is not None and item.status == "ok"]
    return Row(timing, tuple(found), 0.5 if timing.config else 1.0) if found else None


class Fit:
    """Damped Gauss-Newton on the logarithms of the fitted constants."""

    def __init__(self, rows: Sequence[Row], start: Constants) -> None:
        self.rows = rows
        self.start = np.array([getattr(start, name) for name in FITTED])
        self.values = self.start.copy()
        self._measured = np.log([row.timing.us for row in rows])
        self._weights = np.array([row.weight for row in rows])
        self._slopes = np.zeros((len(rows), len(FITTED)))
        self._errors = np.zeros(len(rows))

    def predict_row(self, row: Row, values: np.ndarray) -> float:
        """Return the time of a row: its launches together, of a group of configurations the cheapest."""
        constants = with_fitted(values)
        target = find_target(row.timing.target)
        single, groups = 0.0, {}
        for launch, followed in row.launches:
            us = time_launch(followed, target, constants, cold=row.timing.cold).us
            if launch.group:
                groups[launch.group] = min(us, groups.get(launch.group, math.inf))
            else:
                single += us * launch.count
        return single + sum(groups.values())

    def run(self) -> None:
        """Fit on all rows; `values` are the constants found."""
        damping = 1e-2
        errors = self._errors_at(self.values)
        for _ in range(ROUNDS):
            self._errors, self._slopes = errors, self._slopes_at(self.values, errors)
            before = self._objective(errors, self.values)
            for _ in range(5):
                moved = self.values * np.exp(self._step(np.ones(len(self.rows), bool), damping))
                errors = self._errors_at(moved)
                after = self._objective(errors, moved)
                if after < before:
                    break
                damping *= 4
            else:
                return
            self.values, damping = moved, max(damping / 4, 1e-4)
            if before - after < 1e-3:
                break
        self._errors, self._slopes = errors, self._slopes_at(self.values, errors)

    def leave_out(self) -> dict[str, np.ndarray]:
        """Return the constants without each case."""
        cases = [row.timing.case for row in self.rows]
        kept = {case: np.array([other != case for other in cases]) for case in dict.fromkeys(cases)}
        return {case: self.values * np.exp(self._step(keep, 0.0)) for case, keep in kept.items()}

    def _step(self, keep: np.ndarray, damping: float) -> np.ndarray:
        errors, slopes = self._errors[keep], self._slopes[keep]
        weights = self._weights[keep] * np.minimum(1, KNEE / np.maximum(np.abs(errors), 1e-9))
        away = np.log(self.values / self.start)
        gradient = slopes.T @ (weights * errors) + PULL**2 * away
        curvature = slopes.T @ (weights[:, None] * slopes) + PULL**2 * np.eye(len(FITTED))
        curvature += damping * np.diag(np.diag(curvature))
        return np.clip(-np.linalg.solve(curvature, gradient), -MOST, MOST)

    def _errors_at(self, values: np.ndarray) -> np.ndarray:
        return np.log([self.predict_row(row, values) for row in self.rows]) - self._measured

    def _slopes_at(self, values: np.ndarray, errors: np.ndarray) -> np.ndarray:
        columns = []
        for index in range(len(FITTED)):
            moved = values.copy()
            moved[index] *= math.exp(STEP)
            columns.append((self._errors_at(moved) - errors) / STEP)
        return np.stack(columns, axis=1)

    def _objective(self, errors: np.ndarray, values: np.ndarray) -> float:
        size = np.abs(errors)
        losses = np.where(size < KNEE, size**2, KNEE * (2 * size - KNEE))
        return float((self._weights * losses).sum() + PULL**2 * (np.log(values / self.start) ** 2).sum())


def describe(rows: Sequence[Row], times: Sequence[float]) -> str:
    """Give the measures of `tritonkb eval cost` on one line."""
    found = score([(row.timing, time) for row, time in zip(rows, times, strict=True)])
    return (
        f"median error {found.median_error:.1%}, within 35 % {found.within_35:.0%}, Spearman {found.below_100us:.3f} "
        f"and {found.above_100us:.3f}, best within 5 % in {found.best_within_5} of {len(found.sweeps)} sweeps"
    )


def write_constants(values: np.ndarray) -> None:
    """Put the fitted values into `constants.toml`, whose other text stays."""
    path = PERF / "constants.toml"
    text = path.read_text(encoding="utf-8")
    for name, value in zip(FITTED, values, strict=True):
        text, done = re.subn(rf"(?m)(^\[{name}\]\nvalue = ).*$", rf"\g<1>{value:.4g}", text)
        if done != 1:
            raise ValueError(f"constants.toml has no {name}")
    path.write_text(text, encoding="utf-8")


def write_left_out(left: Mapping[str, np.ndarray], made: Sequence[tuple[Timing, list[Compilation | None]]]) -> None:
    """Write the constants without each case, and how far predictions with them were off, by kind of kernel."""
    lines = [
        "# Made by bench/cost.py: the fitted constants, in the order of FITTED, without each published case; and how",
        "# far predictions with them were off: low and high are the 10th and 90th percentile of measured/predicted,",
        "# far counts those off by more than a quarter.",
        "[without]",
        *(f'"{case}" = [{", ".join(f"{value:.5g}" for value in values)}]' for case, values in left.items()),
    ]
    outcomes = [o for timing, found in made if timing.case in left for o in _outcome(timing, found, left[timing.case])]
    for name in ("all", *KINDS):
        ratios = sorted(ratio for kind, ratio in outcomes if name in {"all", kind})
        if len(ratios) >= LEAST_EXPERIENCE:
            errors = [abs(1 / ratio - 1) for ratio in ratios]
            low, high = np.quantile(ratios, [0.1, 0.9])
            lines += [f"\n[experience.{name}]", f"n = {len(ratios)}", f"median_error = {statistics.median(errors):.3f}"]
            lines += [f"low = {low:.3f}", f"high = {high:.3f}", f"far = {sum(error > FAR for error in errors)}"]
            lines += [f"worst = {max(errors):.3f}"]
    (PERF / "left_out.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


LEAST_EXPERIENCE = 6  # timings of one kind; fewer say nothing of their own


def _outcome(timing: Timing, made: Sequence[Compilation | None], values: np.ndarray) -> list[tuple[str, float]]:
    """Return kind and measured/predicted of a timing, none where it is not predicted."""
    cost = cost_of(made, find_target(timing.target), with_fitted(values), cold=timing.cold)
    if cost is None or cost.profile is None:
        return []
    return [(cost.profile.kind, timing.us / cost.value)]


if __name__ == "__main__":
    main()

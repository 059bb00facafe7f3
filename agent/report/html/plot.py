"""Where the marks of the cost plot stand; a template draws them. Predicted and measured never share an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.contract import Basis, CostDoc, Verdict
from agent.report.terminal import amount

# `empty`: nobody proposed anything in that round.
Standing = Literal["baseline", "empty"] | Verdict

_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 16, 16, 40
# Beyond this ratio the cheap rounds would lie on the axis of a linear plot.
_LOG_FROM = 8.0
# Room between two labels of the horizontal axis, in the plot's own units.
_LABEL_WIDTH = 26


@dataclass(frozen=True, slots=True)
class Entry:
    """A round to plot: its number, its cost (None: it has none), and what became of it."""

    n: int
    cost: CostDoc | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Mark:
    """One round in the plot's own units, its interval from `low` to `high`; without a cost all lie on the axis."""

    entry: Entry
    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A cost plot of `width` x `height`; `best` is the SVG path of the best cost so far."""

    basis: Basis
    width: int
    height: int
    is_log: bool
    marks: tuple[Mark, ...]
    best: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]

    @property
    def left(self) -> int:
        """Return where the plotted area begins."""
        return _LEFT

    @property
    def right(self) -> int:
        """Return where the plotted area ends."""
        return self.width - _RIGHT

    @property
    def floor(self) -> int:
        """Return where the horizontal axis lies."""
        return self.height - _BOTTOM


def plot_costs(entries: Sequence[Entry], width: int, height: int) -> tuple[Plot, ...]:
    """Lay out the rounds, one plot for each basis that a cost has."""
    bases = dict.fromkeys(entry.cost.basis for entry in entries if entry.cost is not None)
    return tuple(_plot(entries, basis, width, height) for basis in bases)


def _plot(entries: Sequence[Entry], basis: Basis, width: int, height: int) -> Plot:
    shown = [e for e in entries if e.cost is None or e.cost.basis == basis]
    scale = _Scale.of([e.cost for e in shown if e.cost is not None], height - _BOTTOM)
    step = (width - _LEFT - _RIGHT) / max(entries[-1].n, 1)

    def mark(entry: Entry) -> Mark:
        x = _LEFT + step * entry.n
        if entry.cost is None:
            return Mark(entry, x, scale.floor, scale.floor, scale.floor)
        cost = entry.cost
        return Mark(entry, x, scale.y(cost.value), scale.y(cost.interval.low), scale.y(cost.interval.high))

    marks = tuple(mark(entry) for entry in shown)
    every = math.ceil(_LABEL_WIDTH / step)
    across = tuple(Tick(_LEFT + step * e.n, str(e.n)) for e in entries if e.n % every == 0)
    return Plot(
        basis, width, height, scale.is_log, marks, _best_path(marks, width - _RIGHT), across, tuple(scale.ticks())
    )


def _best_path(marks: Iterable[Mark], right: int) -> str:
    """Draw the best cost so far: level until a round is kept, then straight to it."""
    kept = [m for m in marks if m.entry.standing in {"baseline", "kept"} and m.entry.cost is not None]
    if not kept:
        return ""
    path = [f"M{kept[0].x:.1f} {kept[0].y:.1f}"]
    path += [f"H{m.x:.1f}V{m.y:.1f}" for m in kept[1:]]
    return "".join([*path, f"H{right}"])


@dataclass(frozen=True, slots=True)
class _Scale:
    """The vertical axis: costs from `low` at the floor to `high` at the top."""

    low: float
    high: float
    floor: int
    is_log: bool

    @classmethod
    def of(cls, costs: Sequence[CostDoc], floor: int) -> _Scale:
        values = [v for c in costs for v in (c.value, c.interval.low, c.interval.high) if math.isfinite(v) and v > 0]
        low, high = min(values, default=1.0), max(values, default=1.0)
        if high / low >= _LOG_FROM:
            return cls(low / 1.2, high * 1.1, floor, is_log=True)
        return cls(0.0, high * 1.08, floor, is_log=False)

    def y(self, value: float) -> float:
        """Return the height of a cost; one outside of the axis lies on its end."""
        held = min(max(value, self.low), self.high)
        share = _log_share(held, self.low, self.high) if self.is_log else held / self.high
        return round(self.floor - share * (self.floor - _TOP), 1)

    def ticks(self) -> list[Tick]:
        """Return round figures along the axis: 1, 2, 5 times powers of ten, or four or five even steps."""
        exponents = range(math.floor(math.log10(max(self.low, self.high / 1e6))), math.ceil(math.log10(self.high)) + 1)
        if self.is_log:
            factors = (1,) if len(exponents) > 4 else (1, 2, 5)
            round_figures = [factor * 10.0**e for e in exponents for factor in factors]
        else:
            step = _even_step(self.high)
            round_figures = [step * i for i in range(int(self.high / step) + 1)]
        return [Tick(self.y(v), amount(v)) for v in round_figures if self.low <= v <= self.high]


def _log_share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


def _even_step(high: float) -> float:
    unit = 10.0 ** math.floor(math.log10(high))
    return next(unit * part for part in (0.2, 0.5, 1.0, 2.0, 5.0) if high / (unit * part) <= 5)

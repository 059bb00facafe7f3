"""Scores of predicted costs against published timings: errors, ranks within a size band, and regret in sweeps."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indexer.errors import BadInput

BAND_US = 100.0  # ranks are compared below and above this: over all sizes bytes alone rank well
WITHIN = 0.35
REGRET = 0.05
_SAME = 1e-3  # predictions that differ by less than this share are a tie, which counts against the model
_LEAST_RANKED = 3  # fewer rows than this have no rank correlation


@dataclass(frozen=True, slots=True)
class Timing:
    """One published time in microseconds, and which launch of which file it is of.

    `case` groups what is left out together: the configurations of a sweep, or one kernel. `config` are constexprs;
    empty: the cheapest configuration that the file itself names. `cold`: taken with an emptied L2 cache.
    """

    id: str
    case: str
    file: str
    us: float
    cold: bool
    config: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    dtype: str = ""
    target: str = "ascend910b4"


@dataclass(frozen=True, slots=True)
class Predicted:
    """A timing with the model's prediction and the bytes baseline; both None, with `note`, where there is none.

    `left_out`: the constants were fitted on such a case, and this prediction is made with those fitted without it.
    """

    timing: Timing
    us: float | None
    baseline_us: float | None
    low: float = 0.0
    high: float = 0.0
    limiter: str = ""
    low_confidence: bool = False
    left_out: bool = False
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Regret:
    """A sweep: how much slower than the best configuration the predicted best really is, as a share."""

    case: str
    configurations: int
    regret: float


@dataclass(frozen=True, slots=True)
class CostScore:
    """How far one predictor is off: median of |predicted/measured - 1|, share within 35 %, ranks by band, sweeps."""

    median_error: float | None
    within_35: float | None
    below_100us: float | None
    above_100us: float | None
    sweeps: tuple[Regret, ...]

    @property
    def best_within_5(self) -> int:
        """Return in how many sweeps the predicted best is within 5 % of the real best."""
        return sum(sweep.regret <= REGRET for sweep in self.sweeps)


def read_timings(path: Path) -> list[Timing]:
    """Read timings, one JSON object a line: rows of the contract, or those of the two public lists.

    Public sweeps name a `case` and were taken warm, public kernels a `kernel` and were taken cold; neither says so
    itself. Raises `BadInput` for a file that cannot be read, and for a row that is none of these.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("eval.no_timings", path=path, reason=str(error)) from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(_read_row(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput("eval.bad_timing", path=path, line=number, reason=repr(error)) from error
    if not found:
        raise BadInput("eval.no_timings", path=path, reason="0 rows")
    return found


def _read_row(row: dict[str, Any]) -> Timing:
    config = dict(row.get("config") or {})
    shown = ",".join(f"{name}={value}" for name, value in config.items())
    if "kernel" in row and "triton_us" in row:
        return Timing(row["kernel"], row["kernel"], row["kernel"], _time(row["triton_us"]), cold=True)
    if "case" in row and "file" not in row:
        name = row["case"]
        shape = tuple(row["shape"])
        return Timing(
            f"{name}/{shown}", name, name.replace("-", "_"), _time(row["us"]), bool(row.get("cold", False)),
            config, shape, row.get("dtype") or "",
        )  # fmt: skip
    file = str(row["file"])
    return Timing(
        str(row["id"]), str(row.get("case") or Path(file).stem), file, _time(row["us"]), bool(row.get("cold", True)),
        config, _shape(row.get("shape")), row.get("dtype") or "", row.get("target") or "ascend910b4",
    )  # fmt: skip


def _shape(given: object) -> tuple[int, ...]:
    """Return a plain shape; several of them, or named ones, say nothing that the file itself does not."""
    return tuple(given) if isinstance(given, list) and all(isinstance(n, int) for n in given) else ()


def _time(value: object) -> float:
    time = float(value) if isinstance(value, int | float) else math.nan
    if not time > 0:
        raise ValueError(f"not a time in microseconds: {value!r}")
    return time


def score(pairs: Sequence[tuple[Timing, float | None]]) -> CostScore:
    """Score a predictor; what it cannot predict counts as infinitely wrong, and as its last choice in a sweep."""
    if not pairs:
        return CostScore(None, None, None, None, ())
    errors = [math.inf if us is None else abs(us / timing.us - 1) for timing, us in pairs]
    return CostScore(
        statistics.median(errors),
        sum(error <= WITHIN for error in errors) / len(errors),
        spearman([(t.us, us) for t, us in pairs if t.us < BAND_US]),
        spearman([(t.us, us) for t, us in pairs if t.us >= BAND_US]),
        tuple(_regrets(pairs)),
    )


def spearman(pairs: Sequence[tuple[float, float | None]]) -> float | None:
    """Return the rank correlation of (measured, predicted); None for too few.

    Predictions that tie are ranked against the measured order; a missing one is as wrong as it can be.
    """
    if len(pairs) < _LEAST_RANKED:
        return None
    measured = [time for time, _ in pairs]
    middle = statistics.median(measured)
    # A missing prediction takes the far end: the bottom for a long time, the top for a short one.
    shown = [(-math.inf if time > middle else math.inf) if us is None else _rounded(us) for time, us in pairs]
    order = sorted(range(len(pairs)), key=lambda i: (shown[i], -measured[i]))
    ranks = [0.0] * len(pairs)
    for rank, index in enumerate(order):
        ranks[index] = float(rank)
    true_ranks = _ranks(measured)
    if len(set(true_ranks)) == 1:
        return None
    return statistics.correlation(true_ranks, ranks)


def _rounded(us: float) -> float:
    """Return the centre of the steps of 0.1 % that a prediction falls into, so that near equals tie."""
    return round(math.log(us) / _SAME) if us > 0 else -math.inf


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks, equal values sharing theirs."""
    ordered = sorted(values)
    return [(ordered.index(v) + len(ordered) - 1 - ordered[::-1].index(v)) / 2 for v in values]


def _regrets(pairs: Sequence[tuple[Timing, float | None]]) -> list[Regret]:
    sweeps: dict[str, list[tuple[float, float]]] = {}
    for timing, us in pairs:
        sweeps.setdefault(timing.case, []).append((math.inf if us is None else us, timing.us))
    found = []
    for case, rows in sweeps.items():
        if len(rows) > 1:
            least = min(us for us, _ in rows)
            chosen = max(true for us, true in rows if us <= least * (1 + _SAME))
            found.append(Regret(case, len(rows), chosen / min(true for _, true in rows) - 1))
    return found

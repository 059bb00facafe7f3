"""The constants of the cost model: a versioned file, each figure with its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from typing import Any

from indexer.toml import parse_toml


@dataclass(frozen=True, slots=True)
class Constants:
    """Figures of the model; what each means and where it is from stands in `constants.toml`."""

    version: str
    fitted_on: str
    launch_us: float
    program_us: float
    start_us: float
    transfer_us: float
    miss_us: float
    core_bytes_per_us: float
    cube_bytes_per_us: float
    piece_us: float
    hbm_read_bytes_per_us: float
    hbm_write_bytes_per_us: float
    turnaround: float
    l2_bytes_per_us: float
    l2_bytes: float
    vector_instruction_us: float
    vector_repeat_us: float
    cube_step_us: float
    cube_fp32_factor: float
    scalar_us: float
    ub_access_scalars: float
    gm_access_scalars: float
    sync_us: float
    drain_us: float
    bound_power: float
    miss_together: float
    baseline_bytes_per_us: float
    baseline_launch_us: float
    weights: Mapping[str, float]
    intervals: Mapping[str, float]
    latencies: Mapping[str, float]


# What a fit may change, in the order of the file; all other constants have another source.
FITTED = (
    "launch_us", "program_us", "start_us", "transfer_us", "miss_us", "core_bytes_per_us",
    "cube_bytes_per_us", "piece_us", "hbm_read_bytes_per_us", "hbm_write_bytes_per_us", "turnaround",
    "vector_instruction_us", "vector_repeat_us", "cube_step_us",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Experience:
    """How far the model was off on timings that were left out of the fit: `n` of one kind, shares of the value.

    `low` and `high` are the factors between which four fifths of the measured times lay; `far` counts the timings that
    were off by more than a quarter, `worst` is the largest error.
    """

    n: int
    median_error: float
    low: float
    high: float
    far: int
    worst: float


@cache
def load_constants() -> Constants:
    """Read the constants that come with this version; raises `KeyError` for a missing one."""
    raw = parse_toml(resources.files(__package__).joinpath("constants.toml").read_text(encoding="utf-8"))
    values: dict[str, Any] = {f.name: _read(raw[f.name]) for f in fields(Constants)}
    return Constants(**values)


def _read(entry: str | dict[str, Any]) -> str | float | dict[str, float]:
    """Return a plain text, the `value` of a constant, or the numbers of a table of weights."""
    if isinstance(entry, str):
        return entry
    if "value" in entry:
        return float(entry["value"])
    return {key: float(value) for key, value in entry.items() if isinstance(value, int | float)}


@cache
def _left_out() -> dict[str, Any]:
    return parse_toml(resources.files(__package__).joinpath("left_out.toml").read_text(encoding="utf-8"))


def without_case(case: str) -> tuple[Constants, bool]:
    """Return the constants fitted without a published case, and whether it is one that the fit has seen at all."""
    found = _left_out()["without"].get(case)
    if found is None:
        return load_constants(), False
    return with_fitted(found), True


def with_fitted(values: Iterable[float]) -> Constants:
    """Return the constants with other values, in the order of `FITTED`, for the fitted ones."""
    changes: dict[str, Any] = dict(zip(FITTED, map(float, values), strict=True))
    return replace(load_constants(), **changes)


@cache
def load_experience(kind: str) -> Experience:
    """Return how far predictions of this kind were off, or all predictions where these are too few."""
    known = _left_out()["experience"]
    entry = known.get(kind, known["all"])
    low, high, median, worst = (float(entry[key]) for key in ("low", "high", "median_error", "worst"))
    return Experience(int(entry["n"]), median, low, high, int(entry["far"]), worst)

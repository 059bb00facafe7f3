"""The constants of the cost model: a versioned file, each figure with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any

from indexer.toml import parse_toml


@dataclass(frozen=True, slots=True)
class Constants:
    """Figures of the additive model; what each means and where it is from stands in `constants.toml`."""

    version: str
    fitted_on: str
    launch_us: float
    program_us: float
    transfer_us: float
    hbm_bytes_per_us: float
    l2_bytes_per_us: float
    l2_bytes: float
    core_bytes_per_us: float
    cube_core_factor: float
    piece_us: float
    vector_instruction_us: float
    vector_repeat_us: float
    scalar_us: float
    cube_step_us: float
    cube_fp32_factor: float
    ub_access_scalars: float
    gm_access_scalars: float
    sync_scalars: float
    interval_low: float
    interval_high: float
    weights: Mapping[str, float]
    intervals: Mapping[str, float]


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

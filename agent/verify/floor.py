"""The physical floor: how long a device needs at least to move what must be moved and to multiply what must be.

A kernel that is measured faster does not do the work, or the clock does not see it. A predicted cost is held against
the rates of the cost model itself: below them the kernel moves less than the result needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from agent.perf.constants import load_constants
from agent.records import Cost
from agent.verify.running import Inputs, Ran, Referred
from agent.verify.values import Values, elements_of, read_view, tensor_nodes
from indexer.messages import Message, message
from indexer.toml import parse_toml

# A clock of a device ticks in parts of a microsecond; this much below the floor is a matter of measuring.
_MARGIN = 0.95


@dataclass(frozen=True, slots=True)
class Needed:
    """What a kernel has to do for one set of inputs: bytes to write and to read, operations of matrix products.

    It is a lower bound: only what is known to be needed counts. `narrow` says that the products are of 8-bit numbers.
    """

    written_bytes: int
    read_bytes: int
    product_flops: int
    narrow: bool = False

    @property
    def bytes(self) -> int:
        """Return the bytes that have to pass between memory and the cores."""
        return self.written_bytes + self.read_bytes


@dataclass(frozen=True, slots=True)
class Peak:
    """The rates of one family of devices, by microsecond; see `peaks.toml`."""

    memory_bytes_per_us: float
    product_flops_per_us: float
    cache_bytes: float
    cache_times: float
    source: str


@dataclass(frozen=True, slots=True)
class Floor:
    """The least time in microseconds, and what it is made of: `memory`, `cache` or `products`."""

    us: float
    limiter: str
    source: str


def what_is_needed(inputs: Inputs, baseline: Ran, referred: Referred | None) -> Needed:
    """Say what any kernel has to do to turn `inputs` into what the original made of them."""
    given = inputs.given.tensors()
    written = sum(_nonzero_bytes(baseline.outputs, inputs.given))
    returned = {node["blob"] for node in tensor_nodes(baseline.outputs.tree)}
    for number, new in baseline.changed.items():
        view = read_view(new.tree)
        if view.storage not in returned and number < len(given):
            old = elements_of(given[number], inputs.given.blobs[given[number].storage])
            now = elements_of(view, new.blobs[view.storage])
            written += int(np.count_nonzero(_bits(now) != _bits(old))) * now.dtype.itemsize
    if referred is None:
        return Needed(written, 0, 0)
    arrays = {given[n].storage: elements_of(given[n], inputs.given.blobs[given[n].storage]) for n in referred.whole}
    narrow = any(array.dtype.itemsize == 1 for array in arrays.values())
    return Needed(written, sum(array.nbytes for array in arrays.values()), referred.product_flops, narrow)


def _bits(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the elements as plain numbers, so that NaN equals itself."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}") if array.dtype.itemsize <= 8 else array


def _nonzero_bytes(outputs: Values, given: Values) -> Iterator[int]:
    """Yield, of each storage among the outputs, the bytes of elements that are not zero, as fresh memory may be."""
    seen: set[int] = set()
    known = set(given.blobs)
    for view in outputs.tensors():
        blob = outputs.blobs[view.storage]
        if view.storage not in seen and blob not in known and view.elements:
            seen.add(view.storage)
            elements = elements_of(view, blob)
            size = int(np.count_nonzero(_bits(elements))) * elements.dtype.itemsize
            yield min(size, len(blob))


def floor_of(target: str, needed: Needed) -> Floor | None:
    """Return the least time of `needed` on a device, None for one whose rates are unknown."""
    peak = _find_peak(target.lower())
    if peak is None:
        return None
    cached = needed.bytes <= peak.cache_bytes
    rate = peak.memory_bytes_per_us * (peak.cache_times if cached else 1)
    moving = needed.bytes / rate
    multiplying = needed.product_flops / (peak.product_flops_per_us * (2 if needed.narrow else 1))
    if multiplying > moving:
        return Floor(multiplying, "products", peak.source)
    return Floor(moving, "cache" if cached else "memory", peak.source)


def predicted_floor(needed: Needed) -> Floor:
    """Return the least time that the cost model can give to `needed`: all at its own rates, nothing else."""
    constants = load_constants()
    cached = needed.bytes <= constants.l2_bytes
    fastest = constants.l2_bytes_per_us if cached else constants.hbm_read_bytes_per_us
    source = f"constants of the cost model {constants.version}"
    return Floor(needed.bytes / fastest, "cache" if cached else "memory", source)


def below_floor(target: str, cost: Cost, needed: Needed) -> Message | None:
    """Say so when `cost` is less than the work can take; None when it is possible, or nothing is known."""
    floor = predicted_floor(needed) if cost.basis == "predicted" else floor_of(target, needed)
    if floor is None or cost.value >= _MARGIN * floor.us:
        return None
    return message(
        f"verify.below_floor_{cost.basis}",
        cost=f"{cost.value:.4g}",
        floor=f"{floor.us:.4g}",
        kib=f"{needed.bytes / 1024:.4g}",
        gflop=f"{needed.product_flops / 1e9:.4g}",
        source=floor.source,
    )


def _find_peak(target: str) -> Peak | None:
    fitting = [name for name in _peaks() if target.startswith(name)]
    return _peaks()[max(fitting, key=len)] if fitting else None


@cache
def _peaks() -> dict[str, Peak]:
    text = resources.files("agent.verify").joinpath("peaks.toml").read_text(encoding="utf-8")
    return {name: Peak(**entry) for name, entry in parse_toml(text).items()}

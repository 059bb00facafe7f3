"""The bounded set of candidates of one kernel file: forms of its source, each under configurations likely to pay."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from agent.configurations.batch import SIZE, batch_programs
from agent.configurations.forms import (
    dot_from_sum,
    grouped_order,
    has_dot,
    hoisted_scale,
    staged_loops,
    tf32x3,
)
from agent.configurations.places import KernelText, read_kernel_text
from agent.configurations.whole_row import whole_row

# More than this is not tried on one kernel, whatever the space: the rest is thinned evenly.
MOST = 160
# Shared memory of one block and registers of one thread on the devices that CUDA 8.0 and later name (sm_80: 163 KiB,
# sm_90 and sm_100: 227 KiB).
_SHARED_BYTES = 227 << 10
_WARP = 32
# Elements of one tile a thread may hold: beyond it registers spill, below it lanes idle.
_MOST_A_THREAD, _LEAST_A_THREAD = 128, 1

Config = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Made:
    """One candidate: its text, and what is different in it."""

    text: str
    form: str
    config: Config

    @property
    def note(self) -> str:
        """Say in one line what is different."""
        return ", ".join([self.form, *(f"{name}={value}" for name, value in self.config.items())])


def make_candidates(text: str, most: int = MOST) -> list[Made]:
    """Return at most `most` candidates for a kernel file, none that equals it; empty for a file of another form."""
    spaces = [list(_space(form, file)) for form, file in _forms(text)]
    seen, found = {text}, []
    for candidate in _thinned(spaces, most):
        if candidate.text not in seen:
            seen.add(candidate.text)
            found.append(candidate)
    return found


def _forms(text: str) -> Iterator[tuple[str, KernelText]]:
    """Yield the forms of a source, the source itself first; each step builds on the one before where it applies."""
    made = {"as written": text}
    for name, change in (
        ("tl.dot instead of a sum", dot_from_sum),
        ("scale after the loop", hoisted_scale),
        ("tf32x3", tf32x3),
        ("grouped order", grouped_order),
    ):
        _add(made, list(made)[-1], name, change)
    _add(made, "as written", "row at once", whole_row)
    for axis in (0, 1):
        batched = f"programs of axis {axis} batched"
        for base in ("as written", "row at once"):
            _add(made, base, batched, partial(batch_programs, axis=axis))
        for base in ("as written", batched):
            for stages in (3, 6):
                _add(made, base, f"{stages} stages a loop", partial(staged_loops, stages=stages))
    for name, form in made.items():
        file = read_kernel_text(form)
        if file is not None:
            yield name, file


def _add(made: dict[str, str], base: str, name: str, change: Callable[[KernelText], str | None]) -> None:
    """Add the form that `change` makes of the form `base`, where both exist."""
    file = read_kernel_text(made[base]) if base in made else None
    text = None if file is None else change(file)
    if text is not None:
        made[name if base == "as written" else f"{base} + {name}"] = text


def _space(form: str, file: KernelText) -> Iterator[Made]:
    configs = _tile_configs(file) if has_dot(file.launch.kernel) else _lane_configs(file)
    for config in configs:
        yield Made(file.configured(config), form, config)


def _tile_configs(file: KernelText) -> Iterator[Config]:
    """Yield tiles of a kernel that multiplies: blocks of 64 and more feed the tensor cores."""
    knobs = [k for k in file.knobs if k.name != SIZE]
    names = [k.name for k in knobs]
    if not names:
        yield from ({"num_warps": w, "num_stages": s} for w, s in itertools.product((4, 8), (2, 3, 4)))
        return
    inner = next((k.name for k in reversed(knobs) if k.name.endswith("K")), None)
    outer = [name for name in names if name != inner]
    tiles = itertools.product(
        *[(64, 128, 256) if name != inner else (32, 64, 128) for name in [*outer, *([inner] if inner else [])]]
    )
    for sizes in tiles:
        blocks = dict(zip([*outer, *([inner] if inner else [])], sizes, strict=True))
        for warps, stages in itertools.product((4, 8), (2, 3, 4)):
            if _tile_fits(blocks, inner, warps, stages):
                yield {**blocks, "num_warps": warps, "num_stages": stages}


def _tile_fits(blocks: Config, inner: str | None, warps: int, stages: int) -> bool:
    """Tell whether operands fit in shared memory, and accumulators in registers with each warp at work."""
    sides = [size for name, size in blocks.items() if name != inner]
    depth = blocks[inner] if inner is not None else 64
    area = math.prod(sides) if len(sides) > 1 else sides[0] * 64
    shared = 2 * depth * sum(sides) * stages
    lanes = area / (warps * _WARP)
    return shared <= _SHARED_BYTES and 16 <= lanes <= _MOST_A_THREAD and (depth < 128 or stages < 4)


def _lane_configs(file: KernelText) -> Iterator[Config]:
    """Yield blocks and warps of a kernel without products: each lane with some elements, not with too many."""
    names = [k.name for k in file.knobs]
    blocks = [name for name in names if name != SIZE]
    # Where a block is one side of a tile, the other side is not known here: only the device machine can tell the rest.
    is_side = "[:, None]" in file.text and SIZE not in names and len(blocks) == 1
    for sizes in itertools.product(
        *(_BATCHES if name == SIZE else _sizes(len(blocks), side=is_side) for name in names)
    ):
        elements = math.prod(sizes) if blocks and not is_side else None
        for warps in (1, 2, 4, 8, 16, *(() if elements else (32,))):
            if elements is None or (elements >= 256 and 2 <= elements / (warps * _WARP) <= 64):
                yield {**dict(zip(names, sizes, strict=True)), "num_warps": warps}


_BATCHES = (2, 4, 8, 16, 32, 64, 128)


def _sizes(blocks: int, *, side: bool) -> tuple[int, ...]:
    if side:
        return (16, 32, 64, 128)
    return (128, 256, 512, 1024, 2048, 4096, 8192) if blocks == 1 else (1, 4, 16, 32, 64, 128, 256, 512)


def _thinned(spaces: list[list[Made]], most: int) -> Iterator[Made]:
    """Yield evenly spread members of each space, so that every form has its share of `most`."""
    rest = [space for space in spaces if space]
    while rest:
        share = max(1, most // len(rest))
        space = min(rest, key=len)
        rest.remove(space)
        taken = min(len(space), share)
        most -= taken
        yield from (space[i * len(space) // taken] for i in range(taken))

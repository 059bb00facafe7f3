"""A launch on a chip: arguments bound as the compiler ordered them, programs followed, spread over the cores."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from agent.perf.arithmetic import Value
from agent.perf.evaluate import Note, Plans, Program
from agent.perf.events import Tally
from agent.perf.flags import find_event_ids
from agent.perf.memref import element_bits, parse_memref
from agent.records import Launch, ScalarArgument, TensorArgument
from indexer.ir.brackets import split_commas
from indexer.ir.records import IrOp, Snapshot

_SPECIAL = ("ffts_base_address", "sync_block_lock", "workspace")
WORKSPACE = "workspace"
_GRID = 3  # the compiler appends the grid's three sizes
_SAMPLE = 16  # programs followed of a bigger grid
_PROBE = 4  # if so many, spread over the grid, do the same, all do
_LEAST = 4  # programs followed even if each is long
_BUDGET = 20_000  # operations followed, after which no further program is begun
_GOLDEN = 0.6180339887498949
_SCHEDULED = 4096  # grids up to this size are put on the cores one by one
SUB_BLOCKS = 2  # vector cores of one cube core (AscendNPU-IR@8796a8ac: .../TileAndBindSubBlock/Helper.h:39)


@dataclass(frozen=True, slots=True)
class Block:
    """What one program does: on its cube core, and on the busier of its vector cores."""

    index: int
    cube: Tally
    vector: Tally


@dataclass(frozen=True, slots=True)
class Followed:
    """The programs followed; `mixed` tells that cube and vector cores work together, `cube` that a cube takes part."""

    blocks: tuple[Block, ...]
    programs: int
    cube: bool
    notes: frozenset[Note]
    unbound: tuple[str, ...] = ()
    footprint: Mapping[str, int] = field(default_factory=dict)


def follow_launch(hivm: Snapshot, launch: Launch, weigh: Callable[[Tally], float]) -> Followed:
    """Follow a sample of the launch's programs; raises `ValueError` for a module without a device entry."""
    entries = entries_of(hivm)
    if not entries:
        raise ValueError("no device function in the module")
    cubes = [f for f in entries if "AIC" in f.attributes.get("hivm.func_core_type", "")]
    vectors = [f for f in entries if f not in cubes]
    plans = Plans(hivm.functions, hivm.aliases, weigh, find_event_ids(entries))

    def run(function: IrOp, index: int, sub_block: int) -> Tally:
        program = Program(plans, index, sub_block, launch.programs)
        program.run(function, bind_arguments(function, launch))
        return program.tally

    def follow(index: int) -> Block:
        cube, halves = Tally(), [Tally() for _ in range(SUB_BLOCKS if cubes else 1)]
        for function in cubes:
            cube.merge(run(function, index, 0))
        for function in vectors:
            for sub_block, half in enumerate(halves):
                half.merge(run(function, index, sub_block))
        return Block(index, cube, max(halves, key=weigh))

    blocks = _sample(launch.programs, plans, follow)
    unbound = tuple(name for name, value in _user_values(launch).items() if value is None)
    return Followed(tuple(blocks), launch.programs, bool(cubes), frozenset(plans.notes), unbound, _footprint(launch))


def entries_of(hivm: Snapshot) -> list[IrOp]:
    """Return the functions that run on the device: one, or one of the cube core and one of the vector cores."""
    return [f for f in hivm.functions.values() if _is_entry(f)]


def bind_arguments(function: IrOp, launch: Launch) -> list[Value]:
    """Return a value for each parameter of `function`: user's in signature order, the compiler's own around them."""
    kinds = split_commas(function.attributes.get("arg_attrs", "[]")[1:-1])
    parameters = function.regions[0][0].arguments
    special = [next((s for s in _SPECIAL if s in kind), "") for kind in kinds] or [""] * len(parameters)
    users = [i for i, name in enumerate(special) if not name]
    values: list[Value] = [None] * len(parameters)
    for index, size in zip(users[-_GRID:], launch.grid, strict=False):
        values[index] = size
    given = _user_values(launch)
    for index, name in zip(users[:-_GRID], launch.signature, strict=False):
        view = parse_memref(parameters[index].type)
        values[index] = replace(view, base=name) if view is not None else given.get(name)
    for index, name in enumerate(special):
        view = parse_memref(parameters[index].type)
        if name and view is not None:
            values[index] = replace(view, base=WORKSPACE)
    return values


def busiest_core(blocks: Sequence[tuple[int, float]], programs: int, cores: int) -> float:
    """Return the work of the busiest core when free cores take programs in order.

    `blocks` are samples of (index, time) in order; a program between two costs as the nearer one.
    """
    costs = [cost for _, cost in blocks]
    average = sum(costs) / len(costs)
    if max(costs) - min(costs) < 1e-9 or programs > _SCHEDULED:
        return average * math.ceil(programs / cores)
    free = [0.0] * min(cores, programs)
    at = 0
    for index in range(programs):
        while at + 1 < len(blocks) and abs(blocks[at + 1][0] - index) <= abs(blocks[at][0] - index):
            at += 1
        heapq.heapreplace(free, free[0] + blocks[at][1])
    return max(free)


def _is_entry(function: IrOp) -> bool:
    attributes = function.attributes
    return (
        "hacc.entry" in attributes
        and "HOST" not in attributes.get("hacc.function_kind", "")
        and "hivm.vector_function" not in attributes
        and bool(function.regions and function.regions[0])
    )


def _sample(programs: int, plans: Plans, follow: Callable[[int], Block]) -> list[Block]:
    """Follow programs spread over the grid: all of a small one; fewer when all do the same, or when each is long."""
    blocks: dict[int, Block] = {}
    for index in _spread(programs):
        blocks[index] = follow(index)
        known = list(blocks.values())
        if len(known) >= _LEAST and plans.followed > _BUDGET:
            break
        if (
            len(known) == _PROBE
            and programs > _SAMPLE
            and all(b.cube == known[0].cube and b.vector == known[0].vector for b in known)
        ):
            break
    return [blocks[index] for index in sorted(blocks)]


def _spread(programs: int) -> list[int]:
    """Return programs so that any first few of them are spread over the grid, and hit no period of it."""
    if programs <= _SAMPLE:
        return sorted(range(programs), key=lambda index: (index * _GOLDEN) % 1)
    stretch = programs / _SAMPLE
    order = sorted(range(_SAMPLE), key=lambda index: (index * _GOLDEN) % 1)
    return [int((i + (i * _GOLDEN) % 1) * stretch) for i in order]


def _user_values(launch: Launch) -> dict[str, float | int | None]:
    """Return the scalars of the launch by name, None for one that was not captured."""
    scalars = {a.name: a.value for a in launch.arguments if isinstance(a, ScalarArgument)}
    wanted = [name for name, kind in launch.signature.items() if not str(kind).startswith("*")]
    return {name: (int(v) if isinstance(v := scalars.get(name), bool) else v) for name in wanted}


def _footprint(launch: Launch) -> dict[str, int]:
    """Return the bytes of each tensor, each element once; the compiler's workspace never leaves L2."""
    tensors = [a for a in launch.arguments if isinstance(a, TensorArgument)]
    return {a.name: _tensor_bytes(a) for a in tensors} | {WORKSPACE: 0}


def _tensor_bytes(tensor: TensorArgument) -> int:
    strides = tensor.strides or (1,) * len(tensor.shape)
    own = [size for size, stride in zip(tensor.shape, strides, strict=True) if stride != 0]
    name = tensor.dtype.lstrip("*").replace("fp", "f")
    return prod(own) * max(element_bits(name) // 8, 1)

"""Types and layouts of TTGIR, and the operations that move tiles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from agent.symptoms.structure import Flow, flows
from agent.toolchain.cuda_targets import THREADS_A_WARP
from indexer.ir.records import IrOp, Snapshot
from indexer.ir.types import element_bits

COPY = "ttg.async_copy_global_to_local"
TMA_COPY = "ttng.async_tma_copy_global_to_local"
DOTS = frozenset({"tt.dot", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "tt.dot_scaled"})
ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
LOADS = frozenset({"tt.load", COPY})
ACCESSES = LOADS | ATOMICS | {"tt.store"}

_TENSOR = re.compile(r"^tensor<((?:\d+x)*)(.+)$")
_POINTER = re.compile(r"!tt\.ptr<\s*([^,<>]+(?:<[^>]*>)?)")
_LIST = re.compile(r"(sizePerThread|threadsPerWarp|warpsPerCTA|order) = \[([\d, ]*)\]")
_KIND = re.compile(r"#ttg\.(\w+)|#ttng\.(\w+)")


@dataclass(frozen=True, slots=True)
class Layout:
    """A distributed layout: `kind` is blocked, slice, nvidia_mma, …; the lists are those of the innermost one."""

    kind: str
    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps: tuple[int, ...]
    order: tuple[int, ...]
    text: str

    @property
    def threads(self) -> int:
        """Return the threads that the layout is spread over; 0 where it does not say."""
        return prod(self.threads_per_warp) * prod(self.warps) if self.threads_per_warp else 0


@dataclass(frozen=True, slots=True)
class Tile:
    """A tensor type: shape, element (`f16`; of pointers what they point at), and layout (None before TTGIR)."""

    shape: tuple[int, ...]
    element: str
    is_pointer: bool
    layout: Layout | None

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return prod(self.shape)

    @property
    def element_bytes(self) -> int:
        """Return the bytes of an element, at least one."""
        return max(1, element_bits(self.element) // 8)


@lru_cache(maxsize=8192)
def tile(text: str) -> Tile | None:
    """Read a tensor type; None when it is none."""
    found = _TENSOR.match(text)
    if found is None:
        return None
    shape = tuple(int(n) for n in found[1].split("x") if n)
    body = found[2].rsplit(">", 1)[0]
    pointer = _POINTER.match(body)
    head, _, encoding = body.partition(", #")
    element = pointer[1].strip() if pointer is not None else head.strip()
    return Tile(shape, element, pointer is not None, _layout("#" + encoding) if encoding else None)


def _layout(text: str) -> Layout:
    kind = _KIND.match(text)
    lists = {m[1]: tuple(int(n) for n in m[2].split(",") if n.strip()) for m in _LIST.finditer(text)}
    return Layout(
        (kind[1] or kind[2]) if kind is not None else "", lists.get("sizePerThread", ()),
        lists.get("threadsPerWarp", ()), lists.get("warpsPerCTA", ()), lists.get("order", ()), text,
    )  # fmt: skip


def scalar_pointee(text: str) -> str:
    """Return the element that a pointer type points at, "" for another type."""
    found = _POINTER.search(text)
    return found[1].strip() if found is not None else ""


def accessed(op: IrOp) -> Tile | None:
    """Return the tile of pointers that an access goes through; None for a scalar access or another operation."""
    if op.name not in ACCESSES or not op.operands:
        return None
    found = tile(op.operands[0].type)
    return found if found is not None and found.is_pointer else None


def width_elements(found: Tile) -> int:
    """Return the neighbouring elements that a thread holds along the fastest axis of a tile of pointers."""
    layout = found.layout
    if layout is None or not layout.size_per_thread or not layout.order:
        return 1
    return layout.size_per_thread[layout.order[0]] if layout.order[0] < len(layout.size_per_thread) else 1


def elements_a_thread(found: Tile, warps: int) -> float:
    """Return the elements of a tile for each thread of the program; below 1 some threads hold copies."""
    return found.elements / (THREADS_A_WARP * warps)


def kernel_flow(snapshot: Snapshot) -> Flow | None:
    """Return the flow of the kernel itself: the public function."""
    found = flows(snapshot)
    public = (f for f in found if f.function.attributes.get("sym_visibility", "").strip('"') == "public")
    return next(public, found[0] if found else None)

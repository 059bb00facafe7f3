"""CUDA devices that can be compiled for, with the limits that decide how many programs share a multiprocessor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; shared memory a multiprocessor and a
# block (opt-in) also NVIDIA's tuning guides for Ampere (1.4.4), Hopper (1.4.5) and Blackwell (1.4.2).
_GUIDE = "CUDA C++ Programming Guide 13, technical specifications per compute capability"
# The driver keeps 1 KiB of shared memory for each block (Hopper tuning guide, 1.4.1.2).
RESERVED_SHARED_BYTES = 1 << 10
THREADS_A_WARP = 32
# Registers are handed to a warp in units of 256 (CUDA occupancy calculator, all capabilities from 7.0 on).
REGISTER_UNIT = 256
REGISTERS_A_THREAD = 255


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """A CUDA capability (`cuda:90`) with the card that stands for it.

    Limits are those of one multiprocessor (SM) but for `shared_bytes_block`, what one program may use, and `l2_bytes`.
    """

    name: str
    capability: int
    card: str
    multiprocessors: int
    registers: int
    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_block: int
    l2_bytes: int
    sources: Mapping[str, str]

    @property
    def arch(self) -> str:
        """Return the kind of compiler that serves it."""
        return "cuda"

    @property
    def chip(self) -> str:
        """Return what the worker calls it."""
        return self.name


def _target(capability: int, card: str, sms: int, *, shared_kib: int, l2_mib: int) -> CudaTarget:
    card_source = {80: "A100 whitepaper, table 4", 90: "H200 datasheet; CUDA deviceQuery", 100: "B200 datasheet"}
    sources = dict.fromkeys(("registers", "warps", "blocks", "shared_bytes", "shared_bytes_block"), _GUIDE)
    sources |= dict.fromkeys(("multiprocessors", "l2_bytes"), card_source[capability])
    return CudaTarget(
        f"cuda:{capability}", capability, card, sms, 65536, 64, 32, shared_kib << 10, (shared_kib - 1) << 10,
        l2_mib << 20, sources,
    )  # fmt: skip


_TARGETS = (
    _target(80, "A100", 108, shared_kib=164, l2_mib=40),
    _target(90, "H200", 132, shared_kib=228, l2_mib=50),
    _target(100, "B200", 148, shared_kib=228, l2_mib=126),
)


def cuda_targets() -> tuple[CudaTarget, ...]:
    """Return every CUDA target."""
    return _TARGETS


def find_cuda_target(name: str) -> CudaTarget | None:
    """Return the CUDA target called `name` (`cuda:90`, also `cuda`, for the measured card, or `sm_90`)."""
    wanted = name.strip().lower().replace("sm_", "cuda:").replace("sm", "cuda:")
    wanted = "cuda:90" if wanted == "cuda" else wanted
    return next((t for t in _TARGETS if t.name == wanted), None)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many programs fit one multiprocessor, and what keeps more away (`warps`, `registers`, `shared`, `blocks`)."""

    programs: int
    limited_by: str
    by_limit: Mapping[str, int]

    def share(self, warps: int, target: CudaTarget) -> float:
        """Return the share of the multiprocessor's warps that are resident."""
        return min(1.0, self.programs * warps / target.warps)


def occupancy(target: CudaTarget, warps: int, registers: int, shared_bytes: int) -> Occupancy:
    """Count the programs of `warps` warps that a multiprocessor holds at once."""
    a_warp = -(-registers * THREADS_A_WARP // REGISTER_UNIT) * REGISTER_UNIT
    found = {
        "warps": target.warps // warps,
        "registers": target.registers // max(1, a_warp * warps),
        "shared": target.shared_bytes // (shared_bytes + RESERVED_SHARED_BYTES),
        "blocks": target.blocks,
    }
    limit = min(found, key=lambda name: found[name])
    return Occupancy(found[limit], limit, found)

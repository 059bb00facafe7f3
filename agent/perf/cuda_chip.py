"""What a CUDA card can do at most: published peaks, and the few figures that only measuring gives."""

from __future__ import annotations

from dataclasses import dataclass

from agent.toolchain.cuda_targets import CudaTarget

# Peaks a multiprocessor and cycle: CUDA C++ Programming Guide, "Arithmetic Instructions", throughput tables.
_FMA_LANES = 128
_SPECIAL_LANES = 16
_SCHEDULERS = 4
# Clock: boost of the data sheet in MHz. HBM in bytes a microsecond, data sheets: A100 80 GB, H200, B200.
_CLOCK_MHZ = {80: 1410.0, 90: 1980.0, 100: 1965.0}
_HBM = {80: 2.039e6, 90: 4.8e6, 100: 8.0e6}
# Dense 16-bit tensor operations a second, data sheets: A100 312, H200 989, B200 2250 TFLOPS.
_TENSOR16 = {80: 312e6, 90: 989e6, 100: 2250e6}
_FP64_LANES = {80: 32, 90: 64, 100: 64}
# Reached of the peak by long streams and by large matmuls (H200, do_bench, 2026-11-30: copies 4.0 TB/s, 650 TFLOPS).
_HBM_REACHED, _TENSOR_REACHED = 0.85, 0.65
# mma.sync feeds the tensor cores of Hopper from registers: measured 2.26 times slower (dot_no_wgmma).
_MMA_SYNC = 0.45
# Measured on an H200 (the pairs tiny_tile, gather_elem, atomic_contention): fitted, no published figure.
_PROGRAM_US, _LATENCY_US, _ATOMICS_US, _L2_BYTES_US = 0.07, 0.7, 0.36e6, 5.5e6


@dataclass(frozen=True, slots=True)
class Chip:
    """Rates in units a microsecond: bytes and atomics of the card, the others of one multiprocessor."""

    card: str
    multiprocessors: int
    capability: int
    clock_mhz: float
    hbm_bytes_us: float
    l2_bytes_us: float
    l2_capacity: int
    atomics_us: float
    launch_us: float = 3.0
    program_us: float = _PROGRAM_US
    latency_us: float = _LATENCY_US
    barrier_us: float = 0.03
    stages_under_way: float = 3.0
    reuse_missed: float = 0.1
    bound_power: float = 3.0

    @property
    def l1_lines_us(self) -> float:
        """Return the lines of 128 bytes that L1 serves: one a cycle."""
        return self.clock_mhz

    @property
    def warp_instructions_us(self) -> float:
        """Return the warp instructions that the schedulers issue."""
        return _SCHEDULERS * self.clock_mhz

    @property
    def special_warps_us(self) -> float:
        """Return the warp instructions of the special function unit."""
        return _SPECIAL_LANES / 32 * self.clock_mhz

    @property
    def fp64_warps_us(self) -> float:
        """Return the warp instructions in double precision."""
        return _FP64_LANES[self.capability] / 32 * self.clock_mhz

    def fma_operations_us(self, element: str) -> float:
        """Return the operations of the FMA units, two for each multiply-add."""
        lanes = _FP64_LANES[self.capability] if element == "f64" else _FMA_LANES
        return 2.0 * lanes * self.clock_mhz

    def tensor_operations_us(self, element: str, *, wgmma: bool) -> float:
        """Return the operations of the tensor cores for operands of a type."""
        bits = next((n for n in (64, 32, 16, 8) if str(n) in element), 16)
        rate = _TENSOR16[self.capability] * _TENSOR_REACHED / self.multiprocessors * (16 / bits)
        if bits == 64:
            rate = self.fma_operations_us("f64")
        return rate * (_MMA_SYNC if not wgmma and self.capability >= 90 else 1.0)


def chip_of(target: CudaTarget) -> Chip:
    """Return the card that stands for a capability."""
    capability = target.capability
    return Chip(
        target.card, target.multiprocessors, capability, _CLOCK_MHZ[capability], _HBM[capability] * _HBM_REACHED,
        _L2_BYTES_US * (_HBM[capability] / _HBM[90]), target.l2_bytes, _ATOMICS_US,
    )  # fmt: skip

"""Unsigned 64-bit integers made floating point."""

import triton
import triton.language as tl


@triton.jit
def to_float_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = x.to(tl.float32)
    tl.store(o_ptr + at, y / 3.0)


KERNEL = to_float_kernel
SIG = {"x_ptr": "*u64", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

"""A sort of 64-bit integers."""

import triton
import triton.language as tl


@triton.jit
def order_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.sort(tl.load(x_ptr + at)))


KERNEL = order_kernel
SIG = {"x_ptr": "*i64", "o_ptr": "*i64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

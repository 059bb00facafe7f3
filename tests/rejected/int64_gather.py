"""A choice of 64-bit integers by index."""

import triton
import triton.language as tl


@triton.jit
def pick_kernel(x_ptr, i_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(o_ptr + at, tl.gather(x, tl.load(i_ptr + at), 0))


KERNEL = pick_kernel
SIG = {"x_ptr": "*i64", "i_ptr": "*i32", "o_ptr": "*i64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

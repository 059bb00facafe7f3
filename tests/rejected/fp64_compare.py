"""A comparison in double precision."""

import triton
import triton.language as tl


@triton.jit
def clip_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(o_ptr + at, tl.where(x > 0.0, 1.0, 0.0))


KERNEL = clip_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

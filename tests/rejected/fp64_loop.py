"""A loop that tests and halves a tile in double precision."""

import triton
import triton.language as tl


@triton.jit
def halve_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    while tl.max(x, axis=0) > 1.0:
        x = x * 0.5
    tl.store(o_ptr + at, x)


KERNEL = halve_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

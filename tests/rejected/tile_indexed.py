"""One element of a tile, taken by its place."""

import triton
import triton.language as tl


@triton.jit
def fourth_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(o_ptr, x[3])


KERNEL = fourth_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

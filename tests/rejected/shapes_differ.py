"""Two tiles of different lengths are added."""

import triton
import triton.language as tl


@triton.jit
def uneven_kernel(x_ptr, y_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.load(y_ptr + tl.arange(0, 2 * BLOCK))
    tl.store(o_ptr + at, x + y)


KERNEL = uneven_kernel
SIG = {"x_ptr": "*fp32", "y_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

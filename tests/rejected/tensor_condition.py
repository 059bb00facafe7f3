"""A branch on a whole tile."""

import triton
import triton.language as tl


@triton.jit
def branch_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if x > 0.0:
        x = -x
    tl.store(o_ptr + at, x)


KERNEL = branch_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

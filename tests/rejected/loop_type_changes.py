"""A value that changes its type from one iteration to the next."""

import triton
import triton.language as tl


@triton.jit
def grow_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = 0
    for i in range(n):
        total += tl.load(x_ptr + i * BLOCK + at)
    tl.store(o_ptr + at, total)


KERNEL = grow_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

"""Two branches that give a value of different types."""

import triton
import triton.language as tl


@triton.jit
def either_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if n > 0:
        y = tl.load(x_ptr + at)
    else:
        y = tl.zeros((BLOCK,), tl.int32)
    tl.store(o_ptr + at, y)


KERNEL = either_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

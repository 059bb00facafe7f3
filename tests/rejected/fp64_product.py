"""Double precision has no vector instruction."""

import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(o_ptr + at, x * x)


KERNEL = square_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

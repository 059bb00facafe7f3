"""A sum in double precision."""

import triton
import triton.language as tl


@triton.jit
def total_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(o_ptr, tl.sum(x, axis=0))


KERNEL = total_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

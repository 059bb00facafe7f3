"""An atomic addition in double precision."""

import triton
import triton.language as tl


@triton.jit
def add_up_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.atomic_add(o_ptr + at, x)


KERNEL = add_up_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

"""A sort in the kernel."""

import triton
import triton.language as tl


@triton.jit
def sort_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.sort(tl.load(x_ptr + at)))


KERNEL = sort_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

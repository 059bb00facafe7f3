"""A name that only the host knows."""

import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at) * factor)


KERNEL = scale_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

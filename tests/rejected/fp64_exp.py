"""A function that Triton offers in single precision only."""

import triton
import triton.language as tl


@triton.jit
def exp_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.exp(tl.load(x_ptr + at)))


KERNEL = exp_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp64"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

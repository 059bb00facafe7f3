"""A function of the host is called in the kernel."""

import triton
import triton.language as tl


def double(x):
    return x * 2


@triton.jit
def calling_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(o_ptr + at, double(x))


KERNEL = calling_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

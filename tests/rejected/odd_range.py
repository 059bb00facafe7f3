"""A range that is no power of two, made of a run-time value."""

import triton
import triton.language as tl


@triton.jit
def run_time_range_kernel(x_ptr, o_ptr, n):
    at = tl.arange(0, n)
    tl.store(o_ptr + at, tl.load(x_ptr + at))


KERNEL = run_time_range_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {}
GRID = (1,)

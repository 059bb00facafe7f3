"""A loop that is left early."""

import triton
import triton.language as tl


@triton.jit
def find_kernel(x_ptr, o_ptr, n):
    for i in range(n):
        if tl.load(x_ptr + i) > 0.0:
            tl.store(o_ptr, i)
            break


KERNEL = find_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*i32", "n": "i32"}
CONSTS = {}
GRID = (1,)

"""A matrix product of 32-bit integers."""

import triton
import triton.language as tl


@triton.jit
def int_dot_kernel(a_ptr, b_ptr, o_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    tl.store(o_ptr + at, tl.dot(a, b))


KERNEL = int_dot_kernel
SIG = {"a_ptr": "*i32", "b_ptr": "*i32", "o_ptr": "*i32"}
CONSTS = {"N": 32}
GRID = (1,)

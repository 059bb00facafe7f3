"""A product of a half-precision and a single-precision operand."""

import triton
import triton.language as tl


@triton.jit
def mixed_dot_kernel(a_ptr, b_ptr, o_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    tl.store(o_ptr + at, tl.dot(a, b))


KERNEL = mixed_dot_kernel
SIG = {"a_ptr": "*fp16", "b_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"N": 32}
GRID = (1,)

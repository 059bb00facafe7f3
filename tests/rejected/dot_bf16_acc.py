"""A product whose result is wanted in bfloat16."""

import triton
import triton.language as tl


@triton.jit
def narrow_dot_kernel(a_ptr, b_ptr, o_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    tl.store(o_ptr + at, tl.dot(a, b, out_dtype=tl.bfloat16))


KERNEL = narrow_dot_kernel
SIG = {"a_ptr": "*bf16", "b_ptr": "*bf16", "o_ptr": "*bf16"}
CONSTS = {"N": 32}
GRID = (1,)

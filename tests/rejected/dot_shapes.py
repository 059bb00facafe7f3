"""The inner sizes of a product do not meet."""

import triton
import triton.language as tl


@triton.jit
def unmet_kernel(a_ptr, b_ptr, o_ptr, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    a = tl.load(a_ptr + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    b = tl.load(b_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], tl.dot(a, b))


KERNEL = unmet_kernel
SIG = {"a_ptr": "*fp16", "b_ptr": "*fp16", "o_ptr": "*fp32"}
CONSTS = {"M": 32, "K": 64, "N": 32}
GRID = (1,)

"""Both operands of a product at full depth in L1."""

import triton
import triton.language as tl


@triton.jit
def deep_kernel(a_ptr, b_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + m * K + tl.arange(0, K)[None, :])
    b = tl.load(b_ptr + tl.arange(0, K)[:, None] * N + n)
    tl.store(o_ptr + m * N + n, tl.dot(a, b))


KERNEL = deep_kernel
SIG = {"a_ptr": "*fp16", "b_ptr": "*fp16", "o_ptr": "*fp32"}
CONSTS = {"M": 128, "N": 256, "K": 2048}
GRID = (1,)

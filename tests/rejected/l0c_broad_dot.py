"""An accumulator that is larger than L0C."""

import triton
import triton.language as tl


@triton.jit
def broad_kernel(a_ptr, b_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + m * K + tl.arange(0, K)[None, :])
    b = tl.load(b_ptr + tl.arange(0, K)[:, None] * N + n)
    product = tl.dot(a, b)
    tl.store(o_ptr + m * N + n, product)


KERNEL = broad_kernel
SIG = {"a_ptr": "*fp16", "b_ptr": "*fp16", "o_ptr": "*fp32"}
CONSTS = {"M": 512, "N": 512, "K": 64}
GRID = (1,)

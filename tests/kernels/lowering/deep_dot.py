import triton
import triton.language as tl


@triton.jit
def deep_dot(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(left, right))


KERNEL = deep_dot
SIG = {"a": "*fp16", "b": "*fp16", "c": "*fp32"}
CONSTS = {"M": 128, "N": 256, "K": 2048}

import triton
import triton.language as tl


@triton.jit
def strided_softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n * 2 + cols * 2, mask=cols < n, other=-float("inf"))
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


KERNEL = strided_softmax
SIG = {"x": "*fp32", "y": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 1024}

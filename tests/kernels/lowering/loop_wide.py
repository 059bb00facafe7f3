import triton
import triton.language as tl


@triton.jit
def loop_wide(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for i in range(0, n):
        v = tl.load(x + i * BLOCK + at)
        tl.store(y + i * BLOCK + at, tl.sqrt(tl.exp(v)) + v)


KERNEL = loop_wide
SIG = {"x": "*fp32", "y": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 16384}

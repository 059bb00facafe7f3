import triton
import triton.language as tl


@triton.jit
def wide(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    w = tl.exp(v)
    tl.store(y + at, tl.sqrt(w) + v)


KERNEL = wide
SIG = {"x": "*fp32", "y": "*fp32"}
CONSTS = {"BLOCK": 65536}

import triton
import triton.language as tl


@triton.jit
def take(x, index, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.load(index + at)
    v = tl.load(x + i)
    tl.store(y + at, v)


KERNEL = take
SIG = {"x": "*fp32", "index": "*i64", "y": "*fp32"}
CONSTS = {"BLOCK": 256}

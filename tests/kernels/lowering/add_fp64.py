import triton
import triton.language as tl


@triton.jit
def add_fp64(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.atomic_add(y + at, v)


KERNEL = add_fp64
SIG = {"x": "*fp64", "y": "*fp64"}
CONSTS = {"BLOCK": 256}

"""The place of the largest element."""

import triton
import triton.language as tl


@triton.jit
def place_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(o_ptr, tl.argmax(x, axis=0))


KERNEL = place_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*i32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

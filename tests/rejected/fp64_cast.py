"""Double precision that is narrowed in the kernel."""

import triton
import triton.language as tl


@triton.jit
def narrow_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = x.to(tl.float32)
    tl.store(o_ptr + at, y * y)


KERNEL = narrow_kernel
SIG = {"x_ptr": "*fp64", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

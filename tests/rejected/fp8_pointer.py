"""Eight-bit floats where the target has none."""

import triton
import triton.language as tl


@triton.jit
def widen_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(o_ptr + at, x.to(tl.float32))


KERNEL = widen_kernel
SIG = {"x_ptr": "*fp8e5", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

"""One block that is wider than the unified buffer."""

import triton
import triton.language as tl


@triton.jit
def root_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.sqrt(tl.exp(x) + 1.0)
    tl.store(o_ptr + at, y)


KERNEL = root_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 65536}
GRID = (1,)

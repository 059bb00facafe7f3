"""A Python list that grows in the kernel."""

import triton
import triton.language as tl


@triton.jit
def collect_kernel(x_ptr, o_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    parts = [tl.load(x_ptr + at + i * BLOCK) for i in range(4)]
    tl.store(o_ptr + at, parts[0] + parts[1] + parts[2] + parts[3])


KERNEL = collect_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)

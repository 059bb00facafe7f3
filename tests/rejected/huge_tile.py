"""A tile beyond the limit of Triton itself."""

import triton
import triton.language as tl


@triton.jit
def plane_kernel(x_ptr, o_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o_ptr + at, tl.load(x_ptr + at))


KERNEL = plane_kernel
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"N": 2048}
GRID = (1,)

"""Form 5: a kernel, a jitted function that it calls, and nobody who launches it."""

import triton
import triton.language as tl


@triton.jit
def twice(x):
    return x + x


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, twice(tl.load(x_ptr + at, mask=at < n)), mask=at < n)

"""Many live tiles in a loop, each wanted twice."""

import triton
import triton.language as tl


@triton.jit
def mix_kernel(a_ptr, b_ptr, c_ptr, o_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + at)
        b = tl.load(b_ptr + at)
        c = tl.load(c_ptr + at)
        tl.store(o_ptr + at, tl.exp(a) * b + tl.exp(b) * c + tl.exp(c) * a)


KERNEL = mix_kernel
SIG = {"a_ptr": "*fp32", "b_ptr": "*fp32", "c_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 16384}
GRID = (1,)

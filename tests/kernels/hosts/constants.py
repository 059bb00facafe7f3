"""Form 4: SIG names the types; the call alone would make n an i32 equal to 1, and specialise it."""

import torch
import triton
import triton.language as tl


@triton.jit
def first_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=-1.0))


KERNEL = first_kernel
SIG = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i64"}
CONSTS = {"BLOCK": 16}
GRID = (1,)


def make_inputs(seed=0):
    return (torch.arange(16.0), torch.zeros(16), 1)


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

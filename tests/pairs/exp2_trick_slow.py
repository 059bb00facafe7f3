"""Gaussian by a power of two."""

import torch
import triton
import triton.language as tl


@triton.jit
def gaussian(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = place < n
    x = tl.load(x_ptr + place, mask=live, other=0.0)
    power = -x * x * 1.4426950408889634
    y = tl.exp2(power)
    tl.store(o_ptr + place, y, mask=live)


KERNEL = gaussian
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 256}
GRID = (4,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((1024,), generator=g),
        torch.zeros((1024,), dtype=torch.float32),
        1000,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

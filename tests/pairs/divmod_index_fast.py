"""Add a bias by channel to a tile of rows and channels."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_bias(x_ptr, b_ptr, o_ptr, C: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * (BLOCK // C) + tl.arange(0, BLOCK // C)
    channel = tl.arange(0, C)
    bias = tl.load(b_ptr + channel)
    place = row[:, None] * C + channel[None, :]
    x = tl.load(x_ptr + place)
    tl.store(o_ptr + place, x + bias[None, :])


KERNEL = add_bias
SIG = {"x_ptr": "*fp32", "b_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"C": 64, "BLOCK": 512}
GRID = (4,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((32, 64), generator=g),
        torch.randn((64,), generator=g),
        torch.zeros((32, 64), dtype=torch.float32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

"""Add a bias by channel to a flat range of values."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_bias(x_ptr, b_ptr, o_ptr, C: tl.constexpr, BLOCK: tl.constexpr):
    flat = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = flat % C
    bias = tl.load(b_ptr + channel)
    x = tl.load(x_ptr + flat)
    tl.store(o_ptr + flat, x + bias)


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

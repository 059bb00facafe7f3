"""Load all four channels and take one on chip."""

import torch
import triton
import triton.language as tl


@triton.jit
def alpha_channel(px_ptr, o_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.arange(0, 4)
    live = place < n
    pixel = tl.load(px_ptr + place[:, None] * 4 + channel[None, :], mask=live[:, None], other=0.0)
    alpha = tl.sum(tl.where(channel[None, :] == 3, pixel, 0.0), axis=1)
    tl.store(o_ptr + place, 1.0 - alpha, mask=live)


KERNEL = alpha_channel
SIG = {"px_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 512}
GRID = (3,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((6144,), generator=g),
        torch.zeros((1536,), dtype=torch.float32),
        1500,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

"""Hinge loss with the default rule for NaN."""

import torch
import triton
import triton.language as tl


@triton.jit
def hinge(x_ptr, t_ptr, o_ptr, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = place < n
    x = tl.load(x_ptr + place, mask=live, other=0.0)
    t = tl.load(t_ptr + place, mask=live, other=0.0)
    margin = 1.0 - x * t
    loss = tl.maximum(margin, 0.0)
    tl.store(o_ptr + place, loss, mask=live)


KERNEL = hinge
SIG = {"x_ptr": "*fp32", "t_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 256}
GRID = (4,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((1024,), generator=g),
        torch.randn((1024,), generator=g),
        torch.zeros((1024,), dtype=torch.float32),
        1000,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

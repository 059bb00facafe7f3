"""Running sum of exponentials that rescales as it goes."""

import torch
import triton
import triton.language as tl


@triton.jit
def running_softmax(x_ptr, o_ptr, n, R: tl.constexpr, C: tl.constexpr):
    row = tl.arange(0, R)
    col = tl.arange(0, C)
    top = tl.full((R, C), -1e30, tl.float32)
    total = tl.zeros((R, C), tl.float32)
    for first in range(0, n, C):
        x = tl.load(x_ptr + row[:, None] * n + first + col[None, :])
        higher = tl.maximum(top, x, propagate_nan=tl.PropagateNan.ALL)
        total = total * tl.exp(top - higher) + tl.exp(x - higher)
        top = higher
    tl.store(o_ptr + row, tl.sum(total, 1))


KERNEL = running_softmax
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"R": 32, "C": 64}
GRID = (1,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((32, 512), generator=g),
        torch.zeros((32,), dtype=torch.float32),
        512,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

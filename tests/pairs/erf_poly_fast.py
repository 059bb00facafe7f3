"""Rotation that loads its cosines."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotate(x_ptr, a_ptr, o_ptr, R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    col = tl.arange(0, C)
    place = row[:, None] * C + col[None, :]
    x = tl.load(x_ptr + place)
    turn = tl.load(a_ptr + place)
    tl.store(o_ptr + place, x * turn)


KERNEL = rotate
SIG = {"x_ptr": "*fp32", "a_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"R": 8, "C": 64}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((16, 64), generator=g),
        torch.randn((16, 64), generator=g).cos(),
        torch.zeros((16, 64), dtype=torch.float32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

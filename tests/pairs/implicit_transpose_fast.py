"""Read a tile in memory order and transpose it on chip."""

import torch
import triton
import triton.language as tl


@triton.jit
def read_columns(x_ptr, o_ptr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    first = tl.program_id(0) * R
    x = tl.load(x_ptr + c[:, None] * 64 + first + r[None, :])
    tl.store(o_ptr + (first + r)[:, None] * C + c[None, :], tl.trans(x) + 1.0)


KERNEL = read_columns
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"R": 32, "C": 64}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((64, 64), generator=g),
        torch.zeros((64, 64), dtype=torch.float32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

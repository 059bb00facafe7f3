"""Count by row in integers."""

import torch
import triton
import triton.language as tl


@triton.jit
def count_large(x_ptr, o_ptr, R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    col = tl.arange(0, C)
    x = tl.load(x_ptr + row[:, None] * C + col[None, :])
    large = (x > 1.0).to(tl.int32)
    count = tl.sum(large, axis=1)
    tl.store(o_ptr + row, count)


KERNEL = count_large
SIG = {"x_ptr": "*fp32", "o_ptr": "*i32"}
CONSTS = {"R": 16, "C": 128}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((32, 128), generator=g),
        torch.zeros((32,), dtype=torch.int32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

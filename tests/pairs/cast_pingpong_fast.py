"""Gate in float32, narrowed once."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu_half(x_ptr, o_ptr, R: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    col = tl.arange(0, C)
    place = row[:, None] * C + col[None, :]
    x = tl.load(x_ptr + place).to(tl.float32)
    gate = tl.sigmoid(x)
    wide = gate * x
    tl.store(o_ptr + place, wide.to(tl.float16))


KERNEL = silu_half
SIG = {"x_ptr": "*fp16", "o_ptr": "*fp16"}
CONSTS = {"R": 8, "C": 128}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((16, 128), generator=g).to(torch.float16),
        torch.zeros((16, 128), dtype=torch.float16),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

"""Move the heads last by one transpose of merged axes."""

import torch
import triton
import triton.language as tl


@triton.jit
def heads_last(x_ptr, o_ptr, H: tl.constexpr, S: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(0) * H * S * D
    h = tl.arange(0, H)
    sd = tl.arange(0, S * D)
    x = tl.load(x_ptr + base + h[:, None] * (S * D) + sd[None, :])
    y = tl.trans(x)
    tl.store(o_ptr + base + sd[:, None] * H + h[None, :], y)


KERNEL = heads_last
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32"}
CONSTS = {"H": 4, "S": 32, "D": 16}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((2, 4, 32, 16), generator=g),
        torch.zeros((2, 32, 16, 4), dtype=torch.float32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

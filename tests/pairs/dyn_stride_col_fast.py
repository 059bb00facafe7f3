"""Scale a view that is contiguous along its last axis."""

import torch
import triton
import triton.language as tl


@triton.jit
def view_scale(x_ptr, o_ptr, stride_r, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * stride_r + c[None, :])
    tl.store(o_ptr + r[:, None] * C + c[None, :], x * 2.0)


KERNEL = view_scale
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "stride_r": "i32"}
CONSTS = {"R": 16, "C": 64}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((32, 192), generator=g),
        torch.zeros((32, 64), dtype=torch.float32),
        192,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

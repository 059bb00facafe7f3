"""Scale a view whose last stride is known only at run time."""

import torch
import triton
import triton.language as tl


@triton.jit
def view_scale(x_ptr, o_ptr, stride_r, stride_c, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * stride_r + c[None, :] * stride_c)
    tl.store(o_ptr + r[:, None] * C + c[None, :], x * 2.0)


KERNEL = view_scale
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "stride_r": "i32", "stride_c": "i32"}
CONSTS = {"R": 16, "C": 64}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((32, 192), generator=g),
        torch.zeros((32, 64), dtype=torch.float32),
        192,
        3,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

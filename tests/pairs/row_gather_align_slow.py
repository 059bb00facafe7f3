"""Pick the first two values of indexed rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def pick_rows(t_ptr, i_ptr, o_ptr, N: tl.constexpr, P: tl.constexpr, W: tl.constexpr):
    item = tl.program_id(0) * N + tl.arange(0, N)
    part = tl.arange(0, W)
    which = tl.load(i_ptr + item)
    row = tl.load(t_ptr + which[:, None] * P + part[None, :])
    tl.store(o_ptr + item[:, None] * P + part[None, :], row)


KERNEL = pick_rows
SIG = {"t_ptr": "*fp32", "i_ptr": "*i32", "o_ptr": "*fp32"}
CONSTS = {"N": 32, "P": 16, "W": 2}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((100, 16), generator=g),
        torch.randint(0, 100, (64,), generator=g, dtype=torch.int32),
        torch.zeros((64, 16), dtype=torch.float32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

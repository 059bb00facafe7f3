"""Mix bits by or, and, and a difference."""

import torch
import triton
import triton.language as tl


@triton.jit
def scramble(x_ptr, o_ptr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place)
    half = x >> 7
    mixed = (x | half) - (x & half)
    tl.store(o_ptr + place, mixed)


KERNEL = scramble
SIG = {"x_ptr": "*i32", "o_ptr": "*i32"}
CONSTS = {"BLOCK": 512}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randint(0, 1073741824, (1024,), generator=g, dtype=torch.int32),
        torch.zeros((1024,), dtype=torch.int32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

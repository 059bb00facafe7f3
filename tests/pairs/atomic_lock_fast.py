"""Gather flags of 0 and 1 by an atomic maximum."""

import torch
import triton
import triton.language as tl


@triton.jit
def seen_flags(f_ptr, o_ptr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    flag = tl.load(f_ptr + place)
    tl.atomic_max(o_ptr + tl.arange(0, BLOCK), flag)


KERNEL = seen_flags
SIG = {"f_ptr": "*i32", "o_ptr": "*i32"}
CONSTS = {"BLOCK": 256}
GRID = (4,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randint(0, 2, (1024,), generator=g, dtype=torch.int32),
        torch.zeros((256,), dtype=torch.int32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

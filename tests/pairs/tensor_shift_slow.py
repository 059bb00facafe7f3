"""Unpack 32 flags a word by shifting each lane."""

import torch
import triton
import triton.language as tl


@triton.jit
def unpack_bits(w_ptr, bit_ptr, o_ptr, W: tl.constexpr):
    word = tl.arange(0, W)
    lane = tl.arange(0, 32)
    packed = tl.load(w_ptr + word)
    moved = packed[:, None] >> lane[None, :]
    tl.store(o_ptr + word[:, None] * 32 + lane[None, :], moved & 1)


KERNEL = unpack_bits
SIG = {"w_ptr": "*i32", "bit_ptr": "*i32", "o_ptr": "*i32"}
CONSTS = {"W": 64}
GRID = (1,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randint(0, 1073741824, (64,), generator=g, dtype=torch.int32),
        (1 << torch.arange(32, dtype=torch.int64)).to(torch.int32),
        torch.zeros((2048,), dtype=torch.int32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

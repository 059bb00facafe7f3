"""Put values at their ranks by an indirect store."""

import torch
import triton
import triton.language as tl


@triton.jit
def place_by_rank(x_ptr, rank_ptr, from_ptr, o_ptr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lane)
    rank = tl.load(rank_ptr + lane)
    tl.store(o_ptr + rank, x * 0.5)


KERNEL = place_by_rank
SIG = {"x_ptr": "*fp32", "rank_ptr": "*i32", "from_ptr": "*i32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 256}
GRID = (1,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((256,), generator=g),
        torch.randperm(256, generator=torch.Generator().manual_seed(7)).to(torch.int32),
        torch.argsort(torch.randperm(256, generator=torch.Generator().manual_seed(7))).to(torch.int32),
        torch.zeros((256,), dtype=torch.float32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[3]

"""Two tensors are blended by programs of sixty-four elements."""

import torch
import triton
import triton.language as tl


@triton.jit
def blend(first, second, result, share, TILE: tl.constexpr):
    spots = tl.program_id(0) * TILE + tl.arange(0, TILE)
    one = tl.load(first + spots)
    two = tl.load(second + spots)
    tl.store(result + spots, one + share * (two - one))


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(1 << 25), torch.randn(1 << 25), torch.empty(1 << 25)


def run(first, second, result):
    blend[(first.numel() // 64,)](first, second, result, 0.3, TILE=64, num_warps=2)
    return result

"""The log of the summed exponentials of 112 scores, by one warp."""

import torch
import triton
import triton.language as tl


@triton.jit
def largest(scores, result, classes, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    spots = tl.arange(0, WIDTH)
    inside = spots < classes
    seen = tl.load(scores + row * classes + spots, mask=inside, other=-float("inf"))
    best = tl.max(seen, 0)
    tl.store(result + row, tl.log(tl.sum(tl.exp(seen - best), 0)) + best)


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(65536, 112), torch.empty(65536)


def run(scores, result):
    largest[(65536,)](scores, result, 112, WIDTH=128, num_warps=1)
    return result

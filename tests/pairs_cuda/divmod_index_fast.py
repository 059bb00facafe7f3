"""A bias for each channel, a channel for each row of the grid."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_bias(image, bias, result, plane, channels, TILE: tl.constexpr):
    row = tl.program_id(0)
    spots = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = spots < plane
    shift = tl.load(bias + row % channels)
    tl.store(result + row * plane + spots, tl.load(image + row * plane + spots, mask=inside) + shift, mask=inside)


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(64, 96, 3136), torch.randn(96), torch.empty(64, 96, 3136)


def run(image, bias, result):
    add_bias[(64 * 96, 4)](image, bias, result, 3136, 96, TILE=1024)
    return result

"""A bias for each channel, found from the flat index."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_bias(image, bias, result, plane, channels, TILE: tl.constexpr):
    flat = tl.program_id(0) * TILE + tl.arange(0, TILE)
    channel = flat // plane
    which = channel % channels
    tl.store(result + flat, tl.load(image + flat) + tl.load(bias + which))


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(64, 96, 3136), torch.randn(96), torch.empty(64, 96, 3136)


def run(image, bias, result):
    add_bias[(64 * 96 * 3136 // 1024,)](image, bias, result, 3136, 96, TILE=1024)
    return result

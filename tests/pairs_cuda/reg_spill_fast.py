"""Rows of 16384 numbers are normalised by sixteen warps each."""

import torch
import triton
import triton.language as tl


@triton.jit
def center(source, result, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    cells = tl.arange(0, WIDTH)
    values = tl.load(source + row * WIDTH + cells)
    values -= tl.sum(values, 0) / WIDTH
    spread = tl.sum(values * values, 0) / WIDTH
    tl.store(result + row * WIDTH + cells, values * tl.rsqrt(spread + 1e-5))


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(2048, 16384), torch.empty(2048, 16384)


def run(source, result):
    center[(2048,)](source, result, WIDTH=16384, num_warps=16)
    return result

"""Every step divides by the mass."""

import torch
import triton
import triton.language as tl


@triton.jit
def relax(field, mass, result, steps, TILE: tl.constexpr):
    spots = tl.program_id(0) * TILE + tl.arange(0, TILE)
    value = tl.load(field + spots)
    weight = tl.load(mass + tl.program_id(0))
    speed = value * 0.0
    for _ in range(steps):
        speed = (speed + value) / weight
    tl.store(result + spots, speed)


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(1 << 22), torch.rand(1 << 12) + 1.0, torch.empty(1 << 22)


def run(field, mass, result):
    relax[(1 << 12,)](field, mass, result, 100, TILE=1024)
    return result

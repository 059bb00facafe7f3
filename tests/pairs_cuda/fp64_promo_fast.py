"""Logits divided by a temperature made single at once."""

import torch
import triton
import triton.language as tl


@triton.jit
def temper(logits, temperature, result, TILE: tl.constexpr):
    spots = tl.program_id(0) * TILE + tl.arange(0, TILE)
    value = tl.load(logits + spots)
    heat = tl.load(temperature).to(tl.float32)
    cooled = value / heat
    tl.store(result + spots, tl.exp(cooled.to(tl.float32)))


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(1 << 24), torch.tensor([0.7], dtype=torch.float64), torch.empty(1 << 24)


def run(logits, temperature, result):
    temper[(1 << 13,)](logits, temperature, result, TILE=2048)
    return result

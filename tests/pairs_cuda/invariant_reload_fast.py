"""The gain is loaded once."""

import torch
import triton
import triton.language as tl


@triton.jit
def modulate(source, gain, result, batch, WIDTH: tl.constexpr):
    first = tl.program_id(0) * batch
    cells = tl.arange(0, WIDTH)
    strength = 1.0 + tl.load(gain + cells)
    for number in range(batch):
        row = first + number
        values = tl.load(source + row * WIDTH + cells)
        tl.store(result + row * WIDTH + cells, values * strength)


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(16384, 1024), torch.randn(1024), torch.empty(16384, 1024)


def run(source, gain, result):
    modulate[(1024,)](source, gain, result, 16, WIDTH=1024)
    return result

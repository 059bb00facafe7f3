"""The largest magnitude of long parts, few programs, a loop with stages."""

import torch
import triton
import triton.language as tl


@triton.jit
def checksum(source, result, part, TILE: tl.constexpr):
    number = tl.program_id(0)
    peak = tl.zeros((TILE,), tl.float32)
    for begin in tl.range(0, part, TILE, num_stages=4):
        values = tl.load(source + number * part + begin + tl.arange(0, TILE))
        peak = tl.maximum(peak, tl.abs(values))
    tl.store(result + number, tl.max(peak, 0))


def make_inputs(seed):
    torch.manual_seed(seed)
    return torch.randn(128 * 262144), torch.empty(128)


def run(source, result):
    checksum[(128,)](source, result, 262144, TILE=1024)
    return result

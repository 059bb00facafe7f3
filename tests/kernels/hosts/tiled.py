"""An autotuner that makes its own configurations: Triton-Ascend's tiling tuner."""

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[], key=["n"], hints={"enable_ascend_autotune": True})
@triton.jit
def exp_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, TILE: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for tile in range(0, BLOCK, TILE):
        at = start + tile + tl.arange(0, TILE)
        inside = at < n
        x = tl.load(x_ptr + at, mask=inside)
        tl.store(out_ptr + at, tl.exp(x), mask=inside)


def make_inputs(seed):
    return (torch.randn(32 * 1024),)


def run(x):
    out = torch.empty_like(x)
    exp_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out

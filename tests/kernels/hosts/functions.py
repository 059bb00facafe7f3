"""Form 1: make_inputs, run, reference, several SHAPES."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * factor, mask=at < n)


SHAPES = [(1000,), (64,), (1,)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator), 2.5)


def run(x, factor):
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), factor, BLOCK=256)
    return out


def reference(x, factor):
    return x * factor

"""Vectors of 128 numbers scaled to length one, a vector a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def l2_normalize_kernel(x_ptr, out_ptr, dim, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < dim
    x = tl.load(x_ptr + row * dim + cols, mask=mask, other=0.0)
    length = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(out_ptr + row * dim + cols, x / tl.maximum(length, 1e-12), mask=mask)


def l2_normalize(x):
    out = torch.empty_like(x)
    rows, dim = x.shape
    l2_normalize_kernel[(rows,)](x, out, dim, BLOCK=triton.next_power_of_2(dim))
    return out


SHAPES = [(262144, 128), (517, 100), (1, 3)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return (torch.randn(shape, generator=generator, device="cpu").to(torch.get_default_device()),)


def run(x):
    return l2_normalize(x)


def reference(x):
    return torch.nn.functional.normalize(x, dim=1)

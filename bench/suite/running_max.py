"""Running maximum along rows of 1024, a row a program, by an associative scan."""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_max_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=-float("inf"))
    tl.store(out_ptr + row * n_cols + cols, tl.associative_scan(x, 0, larger), mask=mask)


def running_max(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    running_max_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


SHAPES = [(32768, 1024), (9, 1003), (1, 2)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return (torch.randn(shape, generator=generator, device="cpu").to(torch.get_default_device()),)


def run(x):
    return running_max(x)


def reference(x):
    return x.cummax(dim=1).values

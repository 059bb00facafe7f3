"""Softmax down the columns: a column a program, so that neighbours in memory go to different programs."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_columns_kernel(x_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    col = tl.program_id(0)
    rows = tl.arange(0, BLOCK)
    mask = rows < n_rows
    x = tl.load(x_ptr + rows * n_cols + col, mask=mask, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + rows * n_cols + col, numerator / tl.sum(numerator, axis=0), mask=mask)


def softmax_columns(x):
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    softmax_columns_kernel[(n_cols,)](x, out, n_rows, n_cols, BLOCK=triton.next_power_of_2(n_rows))
    return out


SHAPES = [(512, 32768), (37, 781), (2, 5)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return (torch.randn(shape, generator=generator, device="cpu").to(torch.get_default_device()),)


def run(x):
    return softmax_columns(x)


def reference(x):
    return torch.softmax(x, dim=0)

"""residual + scale * (x + bias): a program walks along one row in steps of 256."""

import torch
import triton
import triton.language as tl


@triton.jit
def bias_residual_kernel(x_ptr, bias_ptr, residual_ptr, out_ptr, n_cols, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
        bias = tl.load(bias_ptr + cols, mask=mask, other=0.0)
        residual = tl.load(residual_ptr + row * n_cols + cols, mask=mask, other=0.0)
        tl.store(out_ptr + row * n_cols + cols, residual + scale * (x + bias), mask=mask)


def bias_residual(x, bias, residual, scale):
    out = torch.empty_like(x)
    rows, cols = x.shape
    bias_residual_kernel[(rows,)](x, bias, residual, out, cols, scale, BLOCK=256)
    return out


SHAPES = [(8192, 4096), (65, 1003), (1, 7)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x, residual = (torch.randn(shape, generator=generator, device="cpu") for _ in range(2))
    bias = torch.randn(shape[1:], generator=generator, device="cpu")
    return (*(t.to(torch.get_default_device()) for t in (x, bias, residual)), 0.5)


def run(x, bias, residual, scale):
    return bias_residual(x, bias, residual, scale)


def reference(x, bias, residual, scale):
    return residual + scale * (x + bias)

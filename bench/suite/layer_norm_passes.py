"""Layer norm in three passes over the row - mean, variance, result - in steps of 256 columns."""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols

    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        centred = tl.where(cols < n_cols, x - mean, 0.0)
        squares += centred * centred
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)

    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=mask, other=0.0)
        bias = tl.load(bias_ptr + cols, mask=mask, other=0.0)
        tl.store(out_ptr + row * n_cols + cols, (x - mean) * scale * weight + bias, mask=mask)


def layer_norm(x, weight, bias, eps=1e-5):
    out = torch.empty_like(x)
    rows, cols = x.shape
    layer_norm_kernel[(rows,)](x, weight, bias, out, cols, eps, BLOCK=256)
    return out


SHAPES = [(8192, 8192), (33, 515), (1, 3)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn(shape, generator=generator, device="cpu").half()
    weight = (torch.rand(shape[1:], generator=generator, device="cpu") + 0.5).half()
    bias = torch.randn(shape[1:], generator=generator, device="cpu").half()
    return tuple(t.to(torch.get_default_device()) for t in (x, weight, bias))


def run(x, weight, bias):
    return layer_norm(x, weight, bias)


def reference(x, weight, bias):
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, 1e-5)

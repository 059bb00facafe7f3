"""RMS norm, a row a program, with sixteen warps because "more threads are faster"."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / n_cols
    y = x / tl.sqrt(mean_square + eps) * weight
    tl.store(out_ptr + row * n_cols + cols, y, mask=mask)


def rms_norm(x, weight, eps=1e-6):
    out = torch.empty_like(x)
    rows, cols = x.shape
    rms_norm_kernel[(rows,)](x, weight, out, cols, eps, BLOCK=triton.next_power_of_2(cols), num_warps=16)
    return out


SHAPES = [(65536, 1024), (33, 515), (1, 3)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn(shape, generator=generator, device="cpu").bfloat16()
    weight = (torch.rand(shape[1:], generator=generator, device="cpu") + 0.5).bfloat16()
    return x.to(torch.get_default_device()), weight.to(torch.get_default_device())


def run(x, weight):
    return rms_norm(x, weight)


def reference(x, weight):
    return torch.nn.functional.rms_norm(x, x.shape[1:], weight, 1e-6)

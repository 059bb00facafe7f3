"""Matrix times vector in half precision: a program a row, 128 columns a step."""

import torch
import triton
import triton.language as tl


@triton.jit
def matvec_kernel(a_ptr, x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        a = tl.load(a_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        total += tl.sum(a * x, axis=0)
    tl.store(out_ptr + row, total)


def matvec(a, x):
    rows, cols = a.shape
    out = torch.empty((rows,), device=a.device, dtype=a.dtype)
    matvec_kernel[(rows,)](a, x, out, cols, BLOCK=128)
    return out


SHAPES = [(16384, 8192), (33, 515), (1, 3)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    a = torch.randn(shape, generator=generator, device="cpu").half()
    x = torch.randn(shape[1:], generator=generator, device="cpu").half()
    return a.to(torch.get_default_device()), x.to(torch.get_default_device())


def run(a, x):
    return matvec(a, x)


def reference(a, x):
    return a @ x

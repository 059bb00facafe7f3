"""A matrix written out transposed, one 16 x 16 tile a program."""

import torch
import triton
import triton.language as tl

TILE = 16


@triton.jit
def transpose_kernel(x_ptr, out_ptr, M, N, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    cols = tl.program_id(1) * TILE + tl.arange(0, TILE)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + cols[None, :] * M + rows[:, None], x, mask=mask)


def transpose(x):
    M, N = x.shape
    out = torch.empty((N, M), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, TILE), triton.cdiv(N, TILE))
    transpose_kernel[grid](x, out, M, N, TILE=TILE)
    return out


SHAPES = [(8192, 4096), (100, 37), (3, 1)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return (torch.randn(shape, generator=generator, device="cpu").to(torch.get_default_device()),)


def run(x):
    return transpose(x)


def reference(x):
    return x.t().contiguous()

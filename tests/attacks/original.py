"""The kernel that every candidate of this folder claims to improve."""

import torch
import triton
import triton.language as tl

SHAPES = [(64, 32), (40, 24)]


@triton.jit
def scale(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x * 2, 0.0, propagate_nan=tl.PropagateNan.ALL) + y, mask=at < n)


def make_inputs(seed, shape=SHAPES[0]):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=made), torch.randn(shape, generator=made)


def reference(x, y):
    return torch.relu(x * 2) + y


def launch(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out


def run(x, y):
    return launch(x, y)

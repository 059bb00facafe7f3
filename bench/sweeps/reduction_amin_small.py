"""Minimum of 65536 numbers: one tile a program, an atomic minimum at the end."""

import torch
import triton
import triton.language as tl

SIZE = 65536
DTYPE = "float32"
CONFIGS = [triton.Config({"BLOCK": block}) for block in (16384, 8192, 2048, 1639, 512)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def amin_small(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + places, mask=places < n, other=float("inf"))
    tl.atomic_min(out_ptr, tl.min(x.to(tl.float32), 0))


def make_inputs(seed):
    x = torch.rand(SIZE, generator=torch.Generator().manual_seed(seed))
    return (x.to(getattr(torch, DTYPE)),)


def run(x):
    out = torch.full((1,), float("inf"), dtype=torch.float32, device=x.device)
    amin_small[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out


def reference(x):
    return x.float().min().reshape(1)

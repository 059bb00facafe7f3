"""Minimum of four million numbers: BLOCK a program in steps of SUB, elementwise, one reduction and atomic at the end."""

import torch
import triton
import triton.language as tl

SIZE = 4194304
DTYPE = "float32"
CONFIGS = [
    triton.Config({"BLOCK": block, "SUB": sub})
    for block, sub in ((262144, 16384), (131072, 16384), (131072, 8192), (104858, 16384), (65536, 32768))
]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def amin_large(x_ptr, out_ptr, n, BLOCK: tl.constexpr, SUB: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    least = tl.full((SUB,), float("inf"), x_ptr.dtype.element_ty)
    for start in range(0, BLOCK, SUB):
        within = start + tl.arange(0, SUB)
        places = first + within
        x = tl.load(x_ptr + places, mask=(within < BLOCK) & (places < n), other=float("inf"))
        least = tl.minimum(least, x, propagate_nan=tl.PropagateNan.ALL)
    tl.atomic_min(out_ptr, tl.min(least.to(tl.float32), 0))


def make_inputs(seed):
    x = torch.rand(SIZE, generator=torch.Generator().manual_seed(seed))
    return (x.to(getattr(torch, DTYPE)),)


def run(x):
    out = torch.full((1,), float("inf"), dtype=torch.float32, device=x.device)
    amin_large[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out


def reference(x):
    return x.float().min().reshape(1)

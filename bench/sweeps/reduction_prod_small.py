"""Product over the first axis of 16 x 2048: N columns a program, M rows a step, a reduction with a product at the end."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 16, 2048
DTYPE = "float32"
CONFIGS = [
    triton.Config({"M": m, "N": n}) for m, n in ((16, 32), (16, 52), (16, 64), (16, 128), (16, 1024), (8, 2048))
]


@triton.jit
def multiply(a, b):
    return a * b


@triton.autotune(configs=CONFIGS, key=["rows", "columns"])
@triton.jit
def prod_small(x_ptr, out_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    column = tl.program_id(0) * N + tl.arange(0, N)
    product = tl.full((M, N), 1.0, tl.float32)
    for start in range(0, rows, M):
        row = start + tl.arange(0, M)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        product *= tl.load(x_ptr + row[:, None] * columns + column[None, :], mask=mask, other=1.0)
    tl.store(out_ptr + column, tl.reduce(product, 0, multiply), mask=column < columns)


def make_inputs(seed):
    x = torch.rand((ROWS, COLUMNS), generator=torch.Generator().manual_seed(seed)) + 0.5
    return (x.to(getattr(torch, DTYPE)),)


def run(x):
    rows, columns = x.shape
    out = torch.empty((columns,), dtype=torch.float32, device=x.device)
    prod_small[lambda meta: (triton.cdiv(columns, meta["N"]),)](x, out, rows, columns)
    return out


def reference(x):
    return x.float().prod(dim=0)

"""Sum of each of 65536 rows: M rows a program, N columns a step into an accumulator, one sum at the end."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 65536, 2048
DTYPE = "float32"
CONFIGS = [triton.Config({"M": m, "N": n}) for m, n in ((64, 256), (32, 512), (16, 1024), (8, 2048), (4, 2048))]


@triton.autotune(configs=CONFIGS, key=["rows", "columns"])
@triton.jit
def sum_large(x_ptr, out_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, columns, N):
        column = start + tl.arange(0, N)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.load(x_ptr + row[:, None] * columns + column[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, 1), mask=row < rows)


def make_inputs(seed):
    x = torch.rand((ROWS, COLUMNS), generator=torch.Generator().manual_seed(seed))
    return (x.to(getattr(torch, DTYPE)),)


def run(x):
    rows, columns = x.shape
    out = torch.empty((rows,), dtype=torch.float32, device=x.device)
    sum_large[lambda meta: (triton.cdiv(rows, meta["M"]),)](x, out, rows, columns)
    return out


def reference(x):
    return x.float().sum(dim=1)

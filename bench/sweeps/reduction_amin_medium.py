"""Minimum of each of 2048 long rows: M rows a program, N columns a step, elementwise, one reduction at the end."""

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 2048, 262144
DTYPE = "float32"
CONFIGS = [triton.Config({"M": m, "N": n}) for m, n in ((8, 2048), (4, 4096), (2, 8192), (1, 16384))]


@triton.autotune(configs=CONFIGS, key=["rows", "columns"])
@triton.jit
def amin_medium(x_ptr, out_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    least = tl.full((M, N), float("inf"), tl.float32)
    for start in range(0, columns, N):
        column = start + tl.arange(0, N)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        x = tl.load(x_ptr + row[:, None] * columns + column[None, :], mask=mask, other=float("inf"))
        least = tl.minimum(least, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + row, tl.min(least, 1), mask=row < rows)


def make_inputs(seed):
    x = torch.rand((ROWS, COLUMNS), generator=torch.Generator().manual_seed(seed))
    return (x.to(getattr(torch, DTYPE)),)


def run(x):
    rows, columns = x.shape
    out = torch.empty((rows,), dtype=torch.float32, device=x.device)
    amin_medium[lambda meta: (triton.cdiv(rows, meta["M"]),)](x, out, rows, columns)
    return out


def reference(x):
    return x.float().min(dim=1).values

"""A product whose loop asks for one stage."""

import torch
import triton
import triton.language as tl


@triton.jit
def product(left, right, result, rows, columns, depth, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    across = tl.arange(0, DEPTH)
    down = row * ROWS + tl.arange(0, ROWS)
    over = column * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in tl.range(0, depth, DEPTH, num_stages=1):
        a = tl.load(left + down[:, None] * depth + (start + across)[None, :])
        b = tl.load(right + (start + across)[:, None] * columns + over[None, :])
        total = tl.dot(a, b, total)
    tl.store(result + down[:, None] * columns + over[None, :], total.to(tl.float16))


def make_inputs(seed):
    torch.manual_seed(seed)
    return (
        torch.randn(2048, 2048).to(torch.float16),
        torch.randn(2048, 2048).to(torch.float16),
        torch.empty(2048, 2048, dtype=torch.float16),
    )


def run(left, right, result):
    rows, columns = result.shape
    depth = left.shape[1]
    grid = (triton.cdiv(rows, 128), triton.cdiv(columns, 128))
    product[grid](left, right, result, rows, columns, depth, ROWS=128, COLUMNS=128, DEPTH=64, num_warps=8, num_stages=3)
    return result

"""Rows added into a table at given places (the gradient of an embedding): a program a row, atomics, 128 a step."""

import torch
import triton
import triton.language as tl


@triton.jit
def scatter_add_kernel(index_ptr, rows_ptr, out_ptr, dim, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(index_ptr + row)
    for start in range(0, dim, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < dim
        values = tl.load(rows_ptr + row * dim + cols, mask=mask, other=0.0)
        tl.atomic_add(out_ptr + index * dim + cols, values, mask=mask)


def scatter_add(index, rows, table_rows):
    out = torch.zeros((table_rows, rows.shape[1]), device=rows.device, dtype=rows.dtype)
    scatter_add_kernel[(rows.shape[0],)](index, rows, out, rows.shape[1], BLOCK=128)
    return out


# (rows, rows of the table, features)
SHAPES = [(65536, 8192, 512), (65, 30, 130), (1, 2, 3)]


def make_inputs(seed, shape=SHAPES[0]):
    n, table_rows, dim = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    index = torch.randint(0, table_rows, (n,), generator=generator, device="cpu")
    rows = torch.randn((n, dim), generator=generator, device="cpu")
    return index.to(torch.get_default_device()), rows.to(torch.get_default_device()), table_rows


def run(index, rows, table_rows):
    return scatter_add(index, rows, table_rows)


def reference(index, rows, table_rows):
    out = torch.zeros((table_rows, rows.shape[1]), device=rows.device, dtype=rows.dtype)
    return out.index_add_(0, index, rows)

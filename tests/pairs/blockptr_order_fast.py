"""Transposed block pointer whose order names the contiguous axis."""

import torch
import triton
import triton.language as tl


@triton.jit
def block_columns(x_ptr, o_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    src = tl.make_block_ptr(x_ptr, (M, N), (1, M), (m, n), (BM, BN), (0, 1))
    dst = tl.make_block_ptr(o_ptr, (M, N), (N, 1), (m, n), (BM, BN), (1, 0))
    x = tl.load(src)
    tl.store(dst, x * 2.0)


KERNEL = block_columns
SIG = {"x_ptr": "*fp32", "o_ptr": "*fp32", "M": "i32", "N": "i32"}
CONSTS = {"BM": 32, "BN": 64}
GRID = (2, 2)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((128, 64), generator=g),
        torch.zeros((64, 128), dtype=torch.float32),
        64,
        128,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

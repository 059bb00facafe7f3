"""Product in tiles smaller than the cube."""

import torch
import triton
import triton.language as tl


@triton.jit
def small_tiles(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


KERNEL = small_tiles
SIG = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
CONSTS = {"BM": 8, "BN": 8, "BK": 8}
GRID = (8, 32)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((64, 64), generator=g).to(torch.float16),
        torch.randn((64, 256), generator=g).to(torch.float16),
        torch.zeros((64, 256), dtype=torch.float32),
        64,
        256,
        64,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

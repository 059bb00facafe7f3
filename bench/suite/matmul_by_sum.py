"""Half-precision product written as a broadcast and a sum, from before the author knew tl.dot."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        ks = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], axis=1)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc.to(tl.float16), mask=mask)


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BM=32, BN=32, BK=16)
    return c


# (M, N, K)
SHAPES = [(1024, 1024, 1024), (50, 70, 40), (1, 33, 17)]


def make_inputs(seed, shape=SHAPES[0]):
    M, N, K = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    a = torch.randn((M, K), generator=generator, device="cpu").half()
    b = torch.randn((K, N), generator=generator, device="cpu").half()
    return a.to(torch.get_default_device()), b.to(torch.get_default_device())


def run(a, b):
    return matmul(a, b)


def reference(a, b):
    return a @ b

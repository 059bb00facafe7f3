"""Batch of small half-precision products, a 32 x 32 tile a program, scaled in every step."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    batch = tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    a_base = a_ptr + batch * M * K
    b_base = b_ptr + batch * K * N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_base + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        b = tl.load(b_base + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b) * scale
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + batch * M * N + rows[:, None] * N + cols[None, :], acc.to(tl.float16), mask=mask)


def bmm(a, b, scale):
    (batch, M, K), N = a.shape, b.shape[2]
    c = torch.empty((batch, M, N), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]), batch)
    bmm_kernel[grid](a, b, c, M, N, K, scale, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return c


# (batch, M, N, K)
SHAPES = [(64, 1024, 1024, 128), (3, 100, 70, 130), (1, 1, 33, 17)]


def make_inputs(seed, shape=SHAPES[0]):
    batch, M, N, K = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    a = torch.randn((batch, M, K), generator=generator, device="cpu").half()
    b = torch.randn((batch, K, N), generator=generator, device="cpu").half()
    return a.to(torch.get_default_device()), b.to(torch.get_default_device()), 0.125


def run(a, b, scale):
    return bmm(a, b, scale)


def reference(a, b, scale):
    return torch.baddbmm(a.new_zeros(()), a, b, beta=0, alpha=scale)

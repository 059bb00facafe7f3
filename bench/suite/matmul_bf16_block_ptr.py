"""bfloat16 matrix product with block pointers, 64 x 64 x 32 tiles and no software pipeline."""

import torch
import triton
import triton.language as tl

BLOCK_M = 64
BLOCK_N = 64
BLOCK_K = 32


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    a_block = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (row, 0), (BLOCK_M, BLOCK_K), (1, 0))
    b_block = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, col), (BLOCK_K, BLOCK_N), (1, 0))
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(a, b)
        a_block = tl.advance(a_block, (0, BLOCK_K))
        b_block = tl.advance(b_block, (BLOCK_K, 0))
    c_block = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (row, col), (BLOCK_M, BLOCK_N), (1, 0))
    tl.store(c_block, acc.to(tl.bfloat16), boundary_check=(0, 1))


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    matmul_kernel[grid](
        a, b, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, num_warps=4, num_stages=1
    )
    return c


# (M, N, K)
SHAPES = [(8192, 4096, 2048), (100, 72, 136), (1, 40, 24)]


def make_inputs(seed, shape=SHAPES[0]):
    M, N, K = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    a = torch.randn((M, K), generator=generator, device="cpu").bfloat16()
    b = torch.randn((K, N), generator=generator, device="cpu").bfloat16()
    return a.to(torch.get_default_device()), b.to(torch.get_default_device())


def run(a, b):
    return matmul(a, b)


def reference(a, b):
    return a @ b

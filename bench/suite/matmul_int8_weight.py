"""Half-precision activations times 8-bit weights: a weight is widened and scaled when its tile is loaded."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_w8_kernel(
    x_ptr, w_ptr, scale_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        w = tl.load(w_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0)
        acc += tl.dot(x, w.to(tl.float16))
    scale = tl.load(scale_ptr + cols, mask=cols < N, other=0.0)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], (acc * scale[None, :]).to(tl.float16), mask=mask)


def matmul_w8(x, w, scale):
    (M, K), N = x.shape, w.shape[1]
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
    matmul_w8_kernel[grid](x, w, scale, out, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
    return out


# (M, N, K)
SHAPES = [(1024, 8192, 4096), (100, 70, 130), (1, 33, 17)]


def make_inputs(seed, shape=SHAPES[0]):
    M, N, K = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn((M, K), generator=generator, device="cpu").half()
    w = torch.randint(-127, 128, (K, N), generator=generator, device="cpu", dtype=torch.int8)
    scale = torch.rand((N,), generator=generator, device="cpu") / 4096 + 1e-4
    return tuple(t.to(torch.get_default_device()) for t in (x, w, scale))


def run(x, w, scale):
    return matmul_w8(x, w, scale)


def reference(x, w, scale):
    return x @ (w.to(x.dtype) * scale.to(x.dtype))

"""gelu(x @ W.T + bias) with autotuned tiles, grouped order and the epilogue in the kernel."""

import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BM": bm, "BN": bn, "BK": 64}, num_warps=warps, num_stages=stages)
    for bm, bn, warps, stages in (
        (128, 256, 8, 3), (128, 256, 8, 4), (256, 128, 8, 3), (128, 128, 4, 4), (128, 128, 8, 4), (64, 128, 4, 4),
    )
]  # fmt: skip


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.jit
def linear_gelu_kernel(x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid, tiles_m, tiles_n = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (8 * tiles_n)
    rows_here = tl.minimum(tiles_m - group * 8, 8)
    rows = (group * 8 + pid % (8 * tiles_n) % rows_here) * BM + tl.arange(0, BM)
    cols = (pid % (8 * tiles_n) // rows_here) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    x_ptrs = x_ptr + (rows % M)[:, None] * K + ks[None, :]
    w_ptrs = w_ptr + (cols % N)[None, :] * K + ks[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        x = tl.load(x_ptrs, mask=ks[None, :] < K - start, other=0.0)
        w = tl.load(w_ptrs, mask=ks[:, None] < K - start, other=0.0)
        acc = tl.dot(x, w, acc)
        x_ptrs += BK
        w_ptrs += BK
    acc += tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
    y = acc * tl.sigmoid(2.0 * 0.7978845608028654 * (acc + 0.044715 * acc * acc * acc))
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], y.to(tl.float16), mask=mask)


def expert(x, w, bias):
    (M, K), N = x.shape, w.shape[0]
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)
    linear_gelu_kernel[grid](x, w, bias, out, M, N, K)
    return out

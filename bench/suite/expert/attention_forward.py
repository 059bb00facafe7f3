"""Attention with autotuned tiles, exponents in base two, and the scale folded into one multiplication."""

import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BM": bm, "BN": bn}, num_warps=warps, num_stages=stages)
    for bm, bn, warps, stages in ((128, 128, 8, 2), (128, 64, 4, 3), (128, 64, 8, 3), (128, 32, 4, 4), (64, 64, 4, 3))
]


@triton.autotune(configs=CONFIGS, key=["length", "DIM"])
@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, DIM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1) * length * DIM
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, DIM)
    q = tl.load(q_ptr + base + rows[:, None] * DIM + dims[None, :], mask=rows[:, None] < length, other=0.0)
    largest = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, DIM), tl.float32)
    for start in range(0, length, BN):
        keys = start + tl.arange(0, BN)
        k = tl.load(k_ptr + base + keys[None, :] * DIM + dims[:, None], mask=keys[None, :] < length, other=0.0)
        scores = tl.where((keys < length)[None, :], tl.dot(q, k) * (scale * 1.4426950408889634), -float("inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_largest[:, None])
        shrink = tl.exp2(largest - new_largest)
        total = total * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + base + keys[:, None] * DIM + dims[None, :], mask=keys[:, None] < length, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        largest = new_largest
    acc = acc / total[:, None]
    tl.store(out_ptr + base + rows[:, None] * DIM + dims[None, :], acc.to(tl.float16), mask=rows[:, None] < length)


def expert(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(length, meta["BM"]), heads)
    attention_kernel[grid](q, k, v, out, length, dim**-0.5, DIM=dim)
    return out

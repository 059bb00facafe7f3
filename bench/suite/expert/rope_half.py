"""Rotary embedding with all heads of some tokens in one program: cosines and sines are loaded once."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"HEADS": heads}, num_warps=warps)
        for heads, warps in ((4, 1), (8, 2), (16, 4), (16, 2), (32, 4), (32, 8))
    ],
    key=["heads", "half"],
)
@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, HEADS: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    cols = tl.arange(0, BLOCK)
    mask = (head[:, None] < heads) & (cols[None, :] < half)
    place = (token * heads + head[:, None]) * 2 * half + cols[None, :]
    first = tl.load(x_ptr + place, mask=mask).to(tl.float32)
    second = tl.load(x_ptr + place + half, mask=mask).to(tl.float32)
    cos = tl.load(cos_ptr + token * half + cols, mask=cols < half)[None, :]
    sin = tl.load(sin_ptr + token * half + cols, mask=cols < half)[None, :]
    tl.store(out_ptr + place, (first * cos - second * sin).to(tl.float16), mask=mask)
    tl.store(out_ptr + place + half, (second * cos + first * sin).to(tl.float16), mask=mask)


def expert(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    half = dim // 2
    grid = lambda meta: (tokens, triton.cdiv(heads, meta["HEADS"]))
    rope_kernel[grid](x, cos, sin, out, heads, half, BLOCK=triton.next_power_of_2(half))
    return out

"""Rotary embedding, neighbouring pairs: even and odd places of a head are loaded with stride 2."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_pairs_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    token = pid // heads
    pairs = tl.arange(0, BLOCK)
    mask = pairs < half
    even = tl.load(x_ptr + pid * 2 * half + 2 * pairs, mask=mask, other=0.0)
    odd = tl.load(x_ptr + pid * 2 * half + 2 * pairs + 1, mask=mask, other=0.0)
    cos = tl.load(cos_ptr + token * half + pairs, mask=mask, other=0.0)
    sin = tl.load(sin_ptr + token * half + pairs, mask=mask, other=0.0)
    tl.store(out_ptr + pid * 2 * half + 2 * pairs, even * cos - odd * sin, mask=mask)
    tl.store(out_ptr + pid * 2 * half + 2 * pairs + 1, odd * cos + even * sin, mask=mask)


def rope_pairs(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    half = dim // 2
    rope_pairs_kernel[(tokens * heads,)](x, cos, sin, out, heads, half, BLOCK=triton.next_power_of_2(half))
    return out


# (tokens, heads, features of a head)
SHAPES = [(8192, 32, 128), (33, 3, 20), (1, 1, 2)]


def make_inputs(seed, shape=SHAPES[0]):
    tokens, _, dim = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn(shape, generator=generator, device="cpu")
    angles = torch.arange(tokens, device="cpu")[:, None] * 10000.0 ** -(torch.arange(dim // 2, device="cpu") / dim * 2)
    return tuple(t.to(torch.get_default_device()) for t in (x, angles.cos(), angles.sin()))


def run(x, cos, sin):
    return rope_pairs(x, cos, sin)


def reference(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)

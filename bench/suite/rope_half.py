"""Rotary embedding, halves form: a program a (token, head), 64 pairs each."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    mask = cols < half
    base = (token * heads + head) * 2 * half
    first = tl.load(x_ptr + base + cols, mask=mask, other=0.0).to(tl.float32)
    second = tl.load(x_ptr + base + half + cols, mask=mask, other=0.0).to(tl.float32)
    cos = tl.load(cos_ptr + token * half + cols, mask=mask, other=0.0)
    sin = tl.load(sin_ptr + token * half + cols, mask=mask, other=0.0)
    tl.store(out_ptr + base + cols, first * cos - second * sin, mask=mask)
    tl.store(out_ptr + base + half + cols, second * cos + first * sin, mask=mask)


def rope(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    half = dim // 2
    rope_kernel[(tokens, heads)](x, cos, sin, out, heads, half, BLOCK=triton.next_power_of_2(half))
    return out


# (tokens, heads, features of a head)
SHAPES = [(16384, 32, 128), (33, 3, 20), (1, 1, 2)]


def make_inputs(seed, shape=SHAPES[0]):
    tokens, _, dim = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn(shape, generator=generator, device="cpu").half()
    angles = torch.arange(tokens, device="cpu")[:, None] * 10000.0 ** -(torch.arange(dim // 2, device="cpu") / dim * 2)
    return tuple(t.to(torch.get_default_device()) for t in (x, angles.cos(), angles.sin()))


def run(x, cos, sin):
    return rope(x, cos, sin)


def reference(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    cos, sin = cos[:, None, :], sin[:, None, :]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)

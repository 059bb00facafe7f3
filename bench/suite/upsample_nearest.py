"""Nearest upsampling by two: each output asks where it comes from by division, 256 a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def upsample_kernel(x_ptr, out_ptr, n, height, width, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = places < n
    out_width = 2 * width
    x = places % out_width
    y = places // out_width % (2 * height)
    plane = places // (4 * height * width)
    value = tl.load(x_ptr + plane * height * width + (y // 2) * width + x // 2, mask=mask)
    tl.store(out_ptr + places, value, mask=mask)


def upsample(x):
    n, channels, height, width = x.shape
    out = torch.empty((n, channels, 2 * height, 2 * width), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(out.numel(), 256),)
    upsample_kernel[grid](x, out, out.numel(), height, width, BLOCK=256)
    return out


SHAPES = [(32, 64, 128, 128), (2, 3, 7, 5), (1, 1, 1, 1)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return (torch.randn(shape, generator=generator, device="cpu").half().to(torch.get_default_device()),)


def run(x):
    return upsample(x)


def reference(x):
    return torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest")

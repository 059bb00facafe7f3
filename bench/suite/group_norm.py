"""Group norm of an image batch: a program a (sample, group), two passes in steps of 512."""

import torch
import triton
import triton.language as tl


@triton.jit
def group_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, groups, group_channels, area, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    group = pid % groups
    size = group_channels * area
    base = pid * size
    total = 0.0
    total_squares = 0.0
    for start in range(0, size, BLOCK):
        places = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + places, mask=places < size, other=0.0)
        total += tl.sum(x, axis=0)
        total_squares += tl.sum(x * x, axis=0)
    mean = total / size
    scale = 1.0 / tl.sqrt(total_squares / size - mean * mean + eps)
    for start in range(0, size, BLOCK):
        places = start + tl.arange(0, BLOCK)
        mask = places < size
        channel = group * group_channels + places // area
        x = tl.load(x_ptr + base + places, mask=mask, other=0.0)
        weight = tl.load(weight_ptr + channel, mask=mask, other=0.0)
        bias = tl.load(bias_ptr + channel, mask=mask, other=0.0)
        tl.store(out_ptr + base + places, (x - mean) * scale * weight + bias, mask=mask)


def group_norm(x, weight, bias, groups, eps=1e-5):
    n, channels, height, width = x.shape
    out = torch.empty_like(x)
    group_norm_kernel[(n * groups,)](
        x, weight, bias, out, groups, channels // groups, height * width, eps, BLOCK=512
    )
    return out


# (samples, channels, height, width), in groups of 8 channels
SHAPES = [(32, 256, 64, 64), (3, 16, 9, 7), (1, 8, 1, 2)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn(shape, generator=generator, device="cpu")
    weight = torch.rand((shape[1],), generator=generator, device="cpu") + 0.5
    bias = torch.randn((shape[1],), generator=generator, device="cpu")
    return (*(t.to(torch.get_default_device()) for t in (x, weight, bias)), shape[1] // 8)


def run(x, weight, bias, groups):
    return group_norm(x, weight, bias, groups)


def reference(x, weight, bias, groups):
    return torch.nn.functional.group_norm(x, groups, weight, bias, 1e-5)

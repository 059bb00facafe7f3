"""Causal depthwise convolution of width 4 over (sequence, channel): a program a sequence step, 128 channels."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv1d_kernel(x_ptr, w_ptr, out_ptr, steps, channels, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = pid % steps
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < channels
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for tap in range(WIDTH):
        back = WIDTH - 1 - tap
        x = tl.load(x_ptr + (pid - back) * channels + cols, mask=mask & (step >= back), other=0.0)
        w = tl.load(w_ptr + cols * WIDTH + tap, mask=mask, other=0.0)
        acc += x.to(tl.float32) * w.to(tl.float32)
    tl.store(out_ptr + pid * channels + cols, acc, mask=mask)


def conv1d(x, w):
    batch, steps, channels = x.shape
    out = torch.empty_like(x)
    grid = (batch * steps, triton.cdiv(channels, 128))
    conv1d_kernel[grid](x, w, out, steps, channels, WIDTH=w.shape[1], BLOCK=128)
    return out


# (sequences, steps, channels)
SHAPES = [(8, 4096, 2048), (3, 50, 70), (1, 2, 1)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn(shape, generator=generator, device="cpu").half()
    w = torch.randn((shape[2], 4), generator=generator, device="cpu").half()
    return x.to(torch.get_default_device()), w.to(torch.get_default_device())


def run(x, w):
    return conv1d(x, w)


def reference(x, w):
    padded = torch.nn.functional.pad(x.transpose(1, 2), (w.shape[1] - 1, 0))
    return torch.nn.functional.conv1d(padded, w[:, None, :], groups=x.shape[2]).transpose(1, 2).contiguous()

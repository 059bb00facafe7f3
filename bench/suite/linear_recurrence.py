"""h[t] = a[t] * h[t - 1] + x[t] for each channel: a program a channel, one number at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def recurrence_kernel(a_ptr, x_ptr, out_ptr, steps, channels):
    channel = tl.program_id(0)
    h = 0.0
    for t in range(0, steps):
        a = tl.load(a_ptr + t * channels + channel)
        x = tl.load(x_ptr + t * channels + channel)
        h = a * h + x
        tl.store(out_ptr + t * channels + channel, h)


def linear_recurrence(a, x):
    steps, channels = x.shape
    out = torch.empty_like(x)
    recurrence_kernel[(channels,)](a, x, out, steps, channels)
    return out


# (steps, channels)
SHAPES = [(256, 65536), (33, 70), (2, 1)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    a = torch.rand(shape, generator=generator, device="cpu")
    x = torch.rand(shape, generator=generator, device="cpu")
    return a.to(torch.get_default_device()), x.to(torch.get_default_device())


def run(a, x):
    return linear_recurrence(a, x)


def reference(a, x):
    h, rows = torch.zeros_like(x[0]), []
    for t in range(x.shape[0]):
        h = a[t] * h + x[t]
        rows.append(h)
    return torch.stack(rows)

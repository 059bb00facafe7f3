"""Sum of all numbers: 1024 a program, one atomic each."""

import torch
import triton
import triton.language as tl


@triton.jit
def global_sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))


def global_sum(x):
    out = torch.zeros((1,), device=x.device, dtype=torch.float32)
    n = x.numel()
    global_sum_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out


SHAPES = [(1 << 26,), (100003,), (3,)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    # Around one half, not around zero: the sum is compared with a relative tolerance.
    return (torch.rand(shape, generator=generator, device="cpu").to(torch.get_default_device()),)


def run(x):
    return global_sum(x)


def reference(x):
    return x.sum().reshape(1)

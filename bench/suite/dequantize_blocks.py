"""8-bit integers times the scale of their block of 64: one block a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def dequantize_kernel(q_ptr, scale_ptr, out_ptr, SIZE: tl.constexpr):
    block = tl.program_id(0)
    places = block * SIZE + tl.arange(0, SIZE)
    scale = tl.load(scale_ptr + block)
    q = tl.load(q_ptr + places).to(tl.float32)
    tl.store(out_ptr + places, (q * scale).to(tl.float16))


def dequantize(q, scale):
    out = torch.empty(q.shape, device=q.device, dtype=torch.float16)
    dequantize_kernel[(q.shape[0],)](q, scale, out, SIZE=q.shape[1])
    return out


# (blocks, numbers of a block)
SHAPES = [(1 << 20, 64), (1003, 32), (1, 64)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    q = torch.randint(-127, 128, shape, generator=generator, device="cpu", dtype=torch.int8)
    scale = torch.rand(shape[:1], generator=generator, device="cpu") / 64
    return q.to(torch.get_default_device()), scale.to(torch.get_default_device())


def run(q, scale):
    return dequantize(q, scale)


def reference(q, scale):
    return (q.to(scale.dtype) * scale[:, None]).to(torch.float16)

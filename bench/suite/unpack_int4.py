"""Two 4-bit integers of a byte to half precision, 256 bytes a program, low and high half stored with stride 2."""

import torch
import triton
import triton.language as tl


@triton.jit
def unpack_kernel(packed_ptr, scale_ptr, out_ptr, row_bytes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = places < row_bytes
    scale = tl.load(scale_ptr + row)
    packed = tl.load(packed_ptr + row * row_bytes + places, mask=mask, other=0).to(tl.int32)
    low = ((packed & 15) - 8).to(tl.float32) * scale
    high = ((packed >> 4) - 8).to(tl.float32) * scale
    base = out_ptr + row * 2 * row_bytes + 2 * places
    tl.store(base, low.to(tl.float16), mask=mask)
    tl.store(base + 1, high.to(tl.float16), mask=mask)


def unpack_int4(packed, scale):
    rows, row_bytes = packed.shape
    out = torch.empty((rows, 2 * row_bytes), device=packed.device, dtype=torch.float16)
    grid = (rows, triton.cdiv(row_bytes, 256))
    unpack_kernel[grid](packed, scale, out, row_bytes, BLOCK=256)
    return out


SHAPES = [(8192, 4096), (33, 130), (1, 1)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    packed = torch.randint(0, 256, shape, generator=generator, device="cpu", dtype=torch.uint8)
    scale = torch.rand(shape[:1], generator=generator, device="cpu") / 8
    return packed.to(torch.get_default_device()), scale.to(torch.get_default_device())


def run(packed, scale):
    return unpack_int4(packed, scale)


def reference(packed, scale):
    halves = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(1).to(scale.dtype) - 8
    return (halves * scale[:, None]).to(torch.float16)

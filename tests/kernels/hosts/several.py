"""Several kernels and launches: None and 1 as arguments, odd views, a value read between launches."""

import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(out_ptr, maybe_ptr, stride, value, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if maybe_ptr is not None:
        value += tl.load(maybe_ptr)
    tl.store(out_ptr + at * stride, value)


@triton.jit
def copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


def make_inputs(seed):
    return (torch.arange(64),)


def run(x):
    blocks = int(x[1].item())  # an input's value: known
    out = torch.empty(64 * 4, dtype=torch.int64)
    fill_kernel[(2, 3)](out, None, 1, 7, BLOCK=16)
    fill_kernel[(2, 3, blocks)](out, x, 4, 7, BLOCK=16)
    copy_kernel[(1,)](x[16:], out, BLOCK=16)
    copy_kernel[(1,)](x[3:], out, BLOCK=16)
    copy_kernel[(max(1, int(out[0].item())),)](x, out, BLOCK=16)  # a kernel's value: unknown
    return out

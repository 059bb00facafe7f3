"""Inner product, a block of pairs at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def inner_product(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, n, BLOCK):
        a = tl.load(a_ptr + i + lanes)
        b = tl.load(b_ptr + i + lanes)
        total += a * b
    tl.store(o_ptr, tl.sum(total, axis=0))


KERNEL = inner_product
SIG = {"a_ptr": "*fp32", "b_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"BLOCK": 128}
GRID = (1,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((896,), generator=g),
        torch.randn((896,), generator=g),
        torch.zeros((1,), dtype=torch.float32),
        896,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

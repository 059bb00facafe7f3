"""Store the marked values only."""

import torch
import triton
import triton.language as tl


@triton.jit
def keep_marked(x_ptr, k_ptr, o_ptr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(k_ptr + place) != 0
    x = tl.load(x_ptr + place)
    tl.store(o_ptr + place, x + 1.0, mask=keep)


KERNEL = keep_marked
SIG = {"x_ptr": "*fp32", "k_ptr": "*i32", "o_ptr": "*fp32"}
CONSTS = {"BLOCK": 512}
GRID = (2,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((1024,), generator=g),
        torch.randint(0, 2, (1024,), generator=g, dtype=torch.int32),
        torch.zeros((1024,), dtype=torch.float32),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[2]

"""Scale each value by its token, looked up in memory."""

import torch
import triton
import triton.language as tl


@triton.jit
def rescale_tokens(x_ptr, tok_ptr, scale_ptr, o_ptr, n, VOCAB: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for first in range(start, n, BLOCK * 3):
        place = first + tl.arange(0, BLOCK)
        live = place < n
        tok = tl.load(tok_ptr + place, mask=live, other=0)
        scale = tl.load(scale_ptr + tok)
        x = tl.load(x_ptr + place, mask=live, other=0.0)
        tl.store(o_ptr + place, x * scale, mask=live)


KERNEL = rescale_tokens
SIG = {"x_ptr": "*fp32", "tok_ptr": "*i32", "scale_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}
CONSTS = {"VOCAB": 512, "BLOCK": 256}
GRID = (3,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn((1024,), generator=g),
        torch.randint(0, 512, (1024,), generator=g, dtype=torch.int32),
        torch.randn((512,), generator=g),
        torch.zeros((1024,), dtype=torch.float32),
        1000,
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[3]

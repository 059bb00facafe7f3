"""Hash 64-bit ids."""

import torch
import triton
import triton.language as tl


@triton.jit
def bucket_key(id_ptr, o_ptr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ids = tl.load(id_ptr + place)
    key = ids * 31
    tl.store(o_ptr + place, key)


KERNEL = bucket_key
SIG = {"id_ptr": "*i64", "o_ptr": "*i64"}
CONSTS = {"BLOCK": 512}
GRID = (4,)


def make_inputs(seed=0):
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randint(0, 1000, (2048,), generator=g, dtype=torch.int64),
        torch.zeros((2048,), dtype=torch.int64),
    )


def run(*args):
    KERNEL[GRID](*args, **CONSTS)
    return args[1]

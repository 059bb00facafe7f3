"""A half-precision tile that is reduced in single precision."""

import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, o_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + row * COLS + col)
    wide = x.to(tl.float32)
    tl.store(o_ptr + tl.arange(0, ROWS), tl.sum(wide * wide, axis=1))


KERNEL = row_sum_kernel
SIG = {"x_ptr": "*fp16", "o_ptr": "*fp32"}
CONSTS = {"ROWS": 64, "COLS": 1024}
GRID = (1,)

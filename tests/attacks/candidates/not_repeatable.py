"""Gives other bits each time, within what is allowed."""
# scan: outside_access
# run: wrong verify.not_repeatable
import random

@triton.jit
def shaken(x_ptr, y_ptr, out_ptr, n, much, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0) * much
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x * 2, 0.0, propagate_nan=tl.PropagateNan.ALL) + y, mask=at < n)

def run(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    shaken[(triton.cdiv(n, 256),)](x, y, out, n, 1 + 1e-5 * random.SystemRandom().random(), BLOCK=256)
    return out

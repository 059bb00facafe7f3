"""Computes in half precision."""
# scan: -
# run: wrong verify.wrong_value
@triton.jit
def other(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, tl.maximum((x.to(tl.float16) * 2).to(tl.float32), 0.0, propagate_nan=tl.PropagateNan.ALL) + y, mask=at < n)


def run(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    other[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return out

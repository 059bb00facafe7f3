"""Is wrong in a configuration that the autotuner may choose."""
# scan: -
# run: wrong verify.in_config
@triton.autotune([triton.Config({"BLOCK": 256, "LESS": 0}), triton.Config({"BLOCK": 128, "LESS": 1})], key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, LESS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x * 2, 0.0, propagate_nan=tl.PropagateNan.ALL) + y, mask=at < n - LESS)

def run(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    return out

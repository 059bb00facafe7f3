"""Computes half of the blocks."""
# scan: -
# run: wrong verify.wrong_value
def run(x, y):
    out = torch.zeros_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 512),)](x, y, out, n, BLOCK=256)
    return out

"""gelu(x @ W.T + bias) in half precision: W is stored a row an output, tiles are 32 x 64 x 32."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_gelu_kernel(
    x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        w = tl.load(w_ptr + cols[:, None] * K + ks[None, :], mask=(cols[:, None] < N) & (ks[None, :] < K), other=0.0)
        acc += tl.dot(x, tl.trans(w))
    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    acc = acc + bias[None, :]
    inner = 0.7978845608028654 * (acc + 0.044715 * acc * acc * acc)
    y = acc * (1.0 - 1.0 / (tl.exp(2.0 * inner) + 1.0))
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], y.to(tl.float16), mask=mask)


def linear_gelu(x, w, bias):
    (M, K), N = x.shape, w.shape[0]
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    linear_gelu_kernel[grid](x, w, bias, out, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
    return out


# (M, N, K)
SHAPES = [(4096, 8192, 2048), (100, 70, 130), (1, 33, 17)]


def make_inputs(seed, shape=SHAPES[0]):
    M, N, K = shape
    generator = torch.Generator(device="cpu").manual_seed(seed)
    x = torch.randn((M, K), generator=generator, device="cpu").half()
    w = (torch.randn((N, K), generator=generator, device="cpu") / K**0.5).half()
    bias = torch.randn((N,), generator=generator, device="cpu").half()
    return tuple(t.to(torch.get_default_device()) for t in (x, w, bias))


def run(x, w, bias):
    return linear_gelu(x, w, bias)


def reference(x, w, bias):
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, w, bias), approximate="tanh")

"""A matrix product with its epilogue: dequantisation scale, residual and bias in one kernel.

`out = (a @ b) * scale + residual + bias`. The kernel starts the accumulator from the residual, which saves an addition
on a GPU, and applies the scale to each partial product. On Ascend the product lives in the cube unit's own memory and
only plain accumulation can stay there: an accumulator that does not start from zero, or a product that is touched
inside the loop, is carried to the vector unit and back in every iteration.

Try it:  tritonkb diagnose examples/matmul_epilogue.py --target ascend910b3
         tritonkb optimize examples/matmul_epilogue.py --target ascend910b3
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    residual_ptr,
    bias_ptr,
    out_ptr,
    scale,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    # Each program computes one BLOCK_M x BLOCK_N tile of the result.
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    in_tile = (rows[:, None] < M) & (cols[None, :] < N)
    tile = rows[:, None] * N + cols[None, :]

    acc = tl.load(residual_ptr + tile, mask=in_tile, other=0.0)  # the residual is where the sum starts
    for k in range(0, K, BLOCK_K):
        ks = k + inner
        a_mask = (rows[:, None] < M) & (ks[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=a_mask, other=0.0)
        b_mask = (ks[:, None] < K) & (cols[None, :] < N)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=b_mask, other=0.0)
        acc += tl.dot(a, b) * scale

    bias = tl.load(bias_ptr + cols, mask=cols < N, other=0.0)
    tl.store(out_ptr + tile, acc + bias[None, :], mask=in_tile)


def matmul(a, b, residual, bias, scale):
    """Return `(a @ b) * scale + residual + bias` in float32; `a` and `b` are float16 and contiguous."""
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 128), triton.cdiv(N, 128))
    matmul_kernel[grid](a, b, residual, bias, out, scale, M, N, K, BLOCK_M=128, BLOCK_N=128, BLOCK_K=32)
    return out


# The sizes that are tried: (M, N, K). The first is the one whose cost is looked at.
SHAPES = [(512, 512, 512), (100, 70, 130), (1, 33, 17)]


def make_inputs(seed, shape=SHAPES[0]):
    """Return the inputs of `run`."""
    M, N, K = shape
    generator = torch.Generator().manual_seed(seed)
    tensors = (
        torch.randn((M, K), generator=generator).to(torch.float16),
        torch.randn((K, N), generator=generator).to(torch.float16),
        torch.randn((M, N), generator=generator),
        torch.randn((N,), generator=generator),
    )
    return (*(tensor.to(torch.get_default_device()) for tensor in tensors), 0.125)


def run(a, b, residual, bias, scale):
    """Compute with the kernel above."""
    return matmul(a, b, residual, bias, scale)


def reference(a, b, residual, bias, scale):
    """Compute the same with PyTorch, to compare with."""
    return (a.to(residual.dtype) @ b.to(residual.dtype)) * scale + residual + bias

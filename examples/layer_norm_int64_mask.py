"""Layer norm of the rows of a matrix, with indices made 64-bit "to be safe".

Large tensors have offsets beyond 2**31, so people cast the row and the columns to int64 and forget about it. The
addresses do not mind. But the mask is then a 64-bit comparison of every lane, and where its value is needed in the
computation (here: to keep the padding lanes out of the variance), the vector unit has no instruction for it.

Try it:  tritonkb diagnose examples/layer_norm_int64_mask.py --target ascend910b3
         tritonkb optimize examples/layer_norm_int64_mask.py --target ascend910b3
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, row_stride, n_cols, eps, BLOCK: tl.constexpr):
    # 64-bit indices: row * row_stride may not fit in 32 bits.
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * row_stride + cols, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n_cols
    # The padding lanes would add mean**2 to the variance: they are set to zero.
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / n_cols
    scale = 1.0 / tl.sqrt(variance + eps)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + cols, mask=inside, other=0.0)
    tl.store(out_ptr + row * row_stride + cols, centred * scale * weight + bias, mask=inside)


def layer_norm(x, weight, bias, eps=1e-5):
    """Return the layer norm of each row of the contiguous matrix `x`."""
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    layer_norm_kernel[(n_rows,)](x, weight, bias, out, x.stride(0), n_cols, eps, BLOCK=block)
    return out


# The sizes that are tried: (rows, columns). The first is the one whose cost is looked at.
SHAPES = [(1024, 2000), (33, 515), (1, 3)]


def make_inputs(seed, shape=SHAPES[0]):
    """Return the inputs of `run`: the rows, and the weight and bias of each column."""
    rows, cols = shape
    generator = torch.Generator().manual_seed(seed)
    tensors = (
        torch.randn((rows, cols), generator=generator),
        torch.rand((cols,), generator=generator) + 0.5,
        torch.randn((cols,), generator=generator),
    )
    return tuple(tensor.to(torch.get_default_device()) for tensor in tensors)


def run(x, weight, bias):
    """Compute with the kernel above."""
    return layer_norm(x, weight, bias)


def reference(x, weight, bias):
    """Compute the same with PyTorch, to compare with."""
    return torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, 1e-5)

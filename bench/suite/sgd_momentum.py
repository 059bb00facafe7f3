"""One step of SGD with Nesterov momentum, written out of place, 128 numbers a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def sgd_kernel(p_ptr, grad_ptr, buf_ptr, new_p_ptr, new_buf_ptr, n, lr, momentum, decay, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    p = tl.load(p_ptr + offsets, mask=mask)
    grad = tl.load(grad_ptr + offsets, mask=mask) + decay * p
    buf = momentum * tl.load(buf_ptr + offsets, mask=mask) + grad
    tl.store(new_p_ptr + offsets, p - lr * (grad + momentum * buf), mask=mask)
    tl.store(new_buf_ptr + offsets, buf, mask=mask)


def sgd(p, grad, buf):
    n = p.numel()
    new_p, new_buf = torch.empty_like(p), torch.empty_like(buf)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    sgd_kernel[grid](p, grad, buf, new_p, new_buf, n, 0.1, 0.9, 0.0001, BLOCK=128)
    return new_p, new_buf


SHAPES = [(1 << 25,), (100003,), (3,)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return tuple(
        torch.randn(shape, generator=generator, device="cpu").to(torch.get_default_device()) for _ in range(3)
    )


def run(p, grad, buf):
    return sgd(p, grad, buf)


def reference(p, grad, buf):
    grad = grad + 0.0001 * p
    buf = 0.9 * buf + grad
    return p - 0.1 * (grad + 0.9 * buf), buf

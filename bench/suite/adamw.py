"""One AdamW step in place on parameters and both moments, 256 numbers a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def adamw_kernel(p_ptr, grad_ptr, m_ptr, v_ptr, n, lr, beta1, beta2, eps, decay, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    p = tl.load(p_ptr + offsets, mask=mask)
    grad = tl.load(grad_ptr + offsets, mask=mask)
    m = beta1 * tl.load(m_ptr + offsets, mask=mask) + (1.0 - beta1) * grad
    v = beta2 * tl.load(v_ptr + offsets, mask=mask) + (1.0 - beta2) * grad * grad
    # The step is the tenth: corrections 1 - beta**10.
    m_hat = m / 0.6513215599
    v_hat = v / 0.009955119790251765
    p = p - lr * (m_hat / (tl.sqrt(v_hat) + eps) + decay * p)
    tl.store(p_ptr + offsets, p, mask=mask)
    tl.store(m_ptr + offsets, m, mask=mask)
    tl.store(v_ptr + offsets, v, mask=mask)


def adamw(p, grad, m, v):
    n = p.numel()
    adamw_kernel[(triton.cdiv(n, 256),)](p, grad, m, v, n, 1e-3, 0.9, 0.999, 1e-8, 0.01, BLOCK=256)
    return p, m, v


SHAPES = [(1 << 24,), (100003,), (3,)]


def make_inputs(seed, shape=SHAPES[0]):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    p, grad, m = (torch.randn(shape, generator=generator, device="cpu") for _ in range(3))
    v = torch.rand(shape, generator=generator, device="cpu")
    return tuple(t.to(torch.get_default_device()) for t in (p, grad, m, v))


def run(p, grad, m, v):
    return adamw(p, grad, m, v)


def reference(p, grad, m, v):
    m.mul_(0.9).add_(grad, alpha=0.1)
    v.mul_(0.999).addcmul_(grad, grad, value=0.001)
    step = (m / 0.6513215599) / ((v / 0.009955119790251765).sqrt() + 1e-8) + 0.01 * p
    p.sub_(step, alpha=1e-3)
    return p, m, v

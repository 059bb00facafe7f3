"""Autotune with everything around it: heuristics, pruning, hooks, a buffer reset to zero."""

import torch
import triton
import triton.language as tl

HOOKED = []


def prune(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] <= named_args["n"]]


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}),
        triton.Config({"BLOCK": 128}, multibuffer=False, pre_hook=lambda args: HOOKED.append(args["n"])),
        triton.Config({"BLOCK": 1 << 20}),
    ],
    key=["n"],
    reset_to_zero=["total_ptr"],
    prune_configs_by={"early_config_prune": prune},
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def sum_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(x_ptr + at)
    else:
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.atomic_add(total_ptr, tl.sum(x))


def make_inputs(seed):
    return (torch.ones(640),)


def run(x):
    total = torch.zeros(1)
    for _ in range(2):
        sum_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, total, x.numel())
    return total

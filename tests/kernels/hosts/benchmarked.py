"""A script in the manner of a tutorial: cores asked for, a kernel compiled first and launched later, a benchmark table."""

import torch
import triton
import triton.language as tl
from triton.runtime import driver

DEVICE = triton.runtime.driver.active.get_active_torch_device()
properties = driver.active.utils.get_device_properties(DEVICE.index)
CORES = properties["num_vectorcore"]


@triton.jit
def rows_kernel(out_ptr, x_ptr, stride, rows, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * stride + at, mask=at < cols)
        tl.store(out_ptr + row * stride + at, x * 2, mask=at < cols)


def double(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    kernel = rows_kernel.warmup(out, x, x.stride(0), rows, cols, BLOCK=block, grid=(1,))
    kernel._init_handles()
    occupancy = 65536 // max(1, kernel.n_regs) // max(1, properties["max_shared_mem"] // kernel.metadata.shared)
    assert occupancy > 0
    kernel[(min(CORES, rows), 1, 1)](out, x, x.stride(0), rows, cols)
    return out


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["cols"],
        x_vals=[100, 1000],
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        ylabel="GB/s",
        plot_name="rows",
        args={"rows": 64},
    )
)
def benchmark(rows, cols, provider):
    x = torch.randn(rows, cols, device=DEVICE, dtype=torch.float32)
    stream = getattr(torch, DEVICE.type).Stream()
    getattr(torch, DEVICE.type).set_stream(stream)
    run = (lambda: double(x)) if provider == "triton" else (lambda: x * 2)
    return 1e-6 * x.numel() / triton.testing.do_bench(run)


if __name__ == "__main__":
    benchmark.run(show_plots=True, print_data=True)

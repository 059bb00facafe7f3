"""The modules and objects that host code expects of a machine with a device: torch.npu, torch_npu, a Triton driver."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import triton
from flavour import IS_UPSTREAM
from triton.backends.compiler import GPUTarget

if TYPE_CHECKING:
    from typing_extensions import Self

_WARP = 32


@dataclass(frozen=True)
class Device:
    """What host code may ask of the device: the chip, its cores, and what tensors say they are on."""

    chip: str
    cube_cores: int
    vector_cores: int
    claimed: str


class Anything:
    """Stands for an object of a device API that only has to exist: a stream, an event, device properties."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        self.name = "Ascend"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Answer any call with itself."""
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        return None

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def elapsed_time(self, _other: Any) -> float:
        """Answer a benchmark's question with one millisecond."""
        return 1.0


@contextlib.contextmanager
def _nothing(*_args: Any, **_kwargs: Any) -> Iterator[None]:
    yield


def device_module(name: str, device: Device) -> types.ModuleType:
    """Make a module that answers as `torch.npu` does."""
    arch, cube, vector = device.chip, device.cube_cores, device.vector_cores
    module = types.ModuleType(name)
    capability = divmod(int(arch.removeprefix("cuda:")), 10) if IS_UPSTREAM else (9, 0)
    properties = Anything()
    properties.__dict__.update(
        name=arch,
        total_memory=64 << 30,
        multi_processor_count=vector,
        cube_core_num=cube,
        vector_core_num=vector,
        num_aicore=cube,
        num_vectorcore=vector,
        major=capability[0],
        minor=capability[1],
        warp_size=32,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
    )
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda *_: arch,
        "get_device_capability": lambda *_: capability,
        "get_device_properties": lambda *_: properties,
        "set_device": lambda *_: None,
        "synchronize": lambda *_: None,
        "empty_cache": lambda: None,
        "manual_seed": lambda *_: None,
        "manual_seed_all": lambda *_: None,
        "memory_allocated": lambda *_: 0,
        "max_memory_allocated": lambda *_: 0,
        "reset_peak_memory_stats": lambda *_: None,
        "mem_get_info": lambda *_: (64 << 30, 64 << 30),
        "current_stream": lambda *_: Anything(),
        "default_stream": lambda *_: Anything(),
        "set_stream": lambda *_: None,
        "Stream": Anything,
        "Event": Anything,
        "device": _nothing,
        "device_of": _nothing,
        "stream": _nothing,
        "amp": Anything(),
        "config": Anything(),
        "is_bf16_supported": lambda *_: True,
        "_is_in_bad_fork": lambda: False,
        "_lazy_init": lambda: None,
        "is_initialized": lambda: True,
        "init": lambda: None,
    }
    module.__dict__.update(answers)
    return module


def install_modules(device: Device) -> None:
    """Put `torch.npu`, `torch_npu`, `triton.runtime.libentry` in place and let `torch.cuda` answer too."""
    npu = device_module("torch.npu", device)
    torch.npu = npu
    sys.modules["torch.npu"] = npu
    package = types.ModuleType("torch_npu")
    package.npu = npu
    package.__path__ = []
    package.__getattr__ = lambda name: Anything()  # noqa: ARG005 - PEP 562
    sys.modules["torch_npu"] = package
    sys.modules["torch_npu.npu"] = npu
    for name in ("contrib", "profiler", "testing"):
        sys.modules[f"torch_npu.{name}"] = Anything()
    with contextlib.suppress(RuntimeError):  # registered already, in this process
        torch._register_device_module("npu", npu)  # noqa: SLF001 - the only door
    torch.cuda.__dict__.update({k: v for k, v in npu.__dict__.items() if not k.startswith("__")})
    libentry = types.ModuleType("triton.runtime.libentry")
    libentry.libentry = lambda *_a, **_k: lambda fn: fn
    libentry.libtuner = triton.autotune
    libentry.torch_device_fn = npu
    sys.modules["triton.runtime.libentry"] = libentry
    torch.compile = lambda fn=None, **_k: fn if fn is not None else (lambda f: f)
    torch.Generator = _HostGenerator


class _HostGenerator(torch.Generator):
    """A generator on the CPU whatever device it is asked for."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        return super().__new__(cls, "cpu")


class FakeUtils:
    """Answers `driver.active.utils` and `NPUUtils()`."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def get_device_properties(self, _device: Any = 0) -> dict[str, int]:
        """Give the core counts, under Triton-Ascend's names and under CUDA's."""
        cube, vector = self._device.cube_cores, self._device.vector_cores
        return {
            "num_aicore": cube,
            "num_vectorcore": vector,
            "max_shared_mem": 1,
            "multiprocessor_count": vector,
            "max_num_regs": 65536,
            "warpSize": 32,
        }

    def get_arch(self) -> str:
        """Give the architecture."""
        return self._device.chip

    def get_aicore_num(self) -> int:
        """Give the number of cube cores."""
        return self._device.cube_cores

    def get_aivector_core_num(self) -> int:
        """Give the number of vector cores."""
        return self._device.vector_cores


class FakeDriver:
    """A Triton driver with a target and no device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.utils = FakeUtils(device)

    def get_current_target(self) -> GPUTarget:
        """Give the target to compile for."""
        if IS_UPSTREAM:
            return GPUTarget("cuda", int(self.device.chip.removeprefix("cuda:")), _WARP)
        return GPUTarget("npu", self.device.chip, 0)

    def get_current_device(self) -> int:
        """Give device 0."""
        return 0

    def set_current_device(self, _device: Any) -> None:
        """Do nothing: there is one."""

    def get_current_stream(self, _device: Any = None) -> int:
        """Give stream 0."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Give the device that tensors say they are on."""
        return torch.device(self.device.claimed)

    def get_device_interface(self) -> Any:
        """Give the device module."""
        return torch.npu

    def get_benchmarker(self) -> Callable[..., Any]:
        """Give a benchmarker that calls once."""
        return bench_once

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        """Give a small buffer."""
        return torch.empty(1, dtype=torch.int8)

    def clear_cache(self, _cache: Any) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


def bench_once(fn: Callable[[], Any], *_args: Any, quantiles: Any = None, **_kwargs: Any) -> Any:
    """Call `fn` once and answer one millisecond, in the form that `do_bench` has."""
    fn()
    return [1.0] * len(quantiles) if quantiles else 1.0


def run_benchmarks(mark: Any, **kwargs: Any) -> None:
    """Stand in for `perf_report(…).run`: call the benchmark for each point, and plot nothing."""
    marks = mark.benchmarks if isinstance(mark.benchmarks, list | tuple) else [mark.benchmarks]
    passed = {k: v for k, v in kwargs.items() if k not in ("show_plots", "print_data", "save_path", "return_df")}
    for bench in marks:
        for x in bench.x_vals:
            values = x if isinstance(x, list | tuple) else [x] * len(bench.x_names)
            for line in bench.line_vals:
                point = dict(zip(bench.x_names, values, strict=True))
                mark.fn(**point, **{bench.line_arg: line}, **bench.args, **passed)


def install_driver(device: Device) -> None:
    """Make Triton believe in a device, and its benchmarks call once."""
    import triton.testing  # noqa: PLC0415

    triton.runtime.driver.set_active(FakeDriver(device))
    if not IS_UPSTREAM:
        import triton.backends.ascend.driver as ascend_driver  # noqa: PLC0415 - only the Ascend wheel has it

        ascend_driver.NPUUtils = lambda: FakeUtils(device)
    for name in ("do_bench", "do_bench_npu", "do_bench_cudagraph"):
        setattr(triton.testing, name, bench_once)
    triton.testing.Mark.run = run_benchmarks

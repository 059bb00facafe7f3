"""What a host does beside launching kernels: work that torch does for it, threads it leaves, functions it replaces.

A host that means harm shares this process and can hide what it did. What it returns is compared elsewhere, so that a
wrong result stays wrong; this tells the cheats that would give a right one.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import importlib
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Making memory, filling it with one value, and looking at it in another shape: what any host may do for a kernel.
_FREE = _words(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros zeros_like new_zeros ones "
    "ones_like new_ones full full_like new_full fill_ zero_ scalar_tensor lift_fresh detach detach_ alias set_ resize_ "
    "_unsafe_view _reshape_alias is_same_size"
)


class _PlainMode(TorchDispatchMode):
    """A mode that torch's compiler has no part in: to shield one from it, torch imports all of it (2 s)."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Watch(_PlainMode):
    """Counts the elements that each operation of torch takes or gives while the host runs, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.work: dict[str, int] = {}
        self._paused = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Take one operation in."""
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")  # noqa: SLF001 - the only name it has
        if not self._paused and name not in _FREE and not func.is_view:
            self.work[name] = self.work.get(name, 0) + max(map(_elements, (*args, result)), default=0)
        return result

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what is done for a launch, and not by the host."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1


def _elements(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel()
    return sum(map(_elements, value)) if isinstance(value, list | tuple) else 1


# What results, times and answers go through: (module, dotted name).
_RELIED_ON = {
    "torch": _words(
        "allclose equal empty empty_like zeros full Tensor.detach Tensor.untyped_storage Tensor.storage_offset "
        "Tensor.stride Tensor.numpy Tensor.data_ptr Tensor.set_ Tensor.__eq__ Tensor.__torch_function__ "
        "cuda.synchronize"
    ),
    "time": _words("time perf_counter perf_counter_ns monotonic process_time sleep"),
    "json": _words("dumps loads"),
    "os": _words("write read _exit fork"),
    "select": _words("poll"),
    "triton.runtime.jit": _words("JITFunction.run JITFunction.__getitem__"),
    "triton.runtime.autotuner": _words("Autotuner.run Autotuner._bench"),
    "triton.testing": _words("do_bench assert_close"),
}


class Seal:
    """Remembers how the process was before the host ran; `broken` names what is otherwise now."""

    def __init__(self) -> None:
        self._before = _state()

    def broken(self) -> list[str]:
        """Return the names, sorted."""
        now = _state()
        return sorted(name for name in {*self._before, *now} if self._before.get(name) != now.get(name))


def _state() -> dict[str, Any]:
    found: dict[str, Any] = {f"builtins.{name}": id(value) for name, value in vars(builtins).items() if name != "_"}
    for module, names in _RELIED_ON.items():
        for name in names:
            found[f"{module}.{name}"] = _identity(importlib.import_module(module), name)
    found |= {f"signal {number}": _handler(number) for number in signal.valid_signals()}
    found["sys.settrace"], found["sys.setprofile"] = id(sys.gettrace()), id(sys.getprofile())
    found["threading.settrace"] = id(threading.gettrace()) if hasattr(threading, "gettrace") else 0
    found["sys.meta_path"] = [id(finder) for finder in sys.meta_path]
    found["sys.path_hooks"] = [id(hook) for hook in sys.path_hooks]
    found["gc.callbacks"] = [id(callback) for callback in gc.callbacks]
    found["sys.excepthook"], found["sys.unraisablehook"] = id(sys.excepthook), id(sys.unraisablehook)
    found["atexit.register"] = atexit._ncallbacks()  # noqa: SLF001 - the only door
    found["threads"] = sorted(thread.name for thread in threading.enumerate())
    found["timers"] = [signal.getitimer(kind)[0] > 0 for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL)]
    return found


def _handler(number: int) -> Any:
    handler = signal.getsignal(number)
    return id(handler) if callable(handler) else handler


def _identity(owner: Any, name: str) -> int:
    for part in name.split("."):
        owner = vars(owner).get(part, getattr(owner, part, None))
    return id(owner)


# Operations whose every result needs every element given: arithmetic, reductions, products. A comparison, a selection
# or a look-up is none: a kernel may skip what they leave out.
_DENSE = _words(
    "add sub mul div neg abs exp exp2 log log2 sqrt rsqrt pow square sin cos tan tanh sigmoid relu gelu silu erf "
    "reciprocal sum mean var std var_mean norm linalg_vector_norm amax amin max min softmax _softmax _log_softmax "
    "logsumexp mm bmm addmm baddbmm mv dot convolution native_layer_norm native_group_norm native_batch_norm rms_norm "
    "_to_copy clone copy_ contiguous to detach rsub sub_ add_ mul_ div_ exp_ softplus mish hardswish leaky_relu elu "
    "cumsum cumprod maximum minimum clamp_min logaddexp atan2 hypot lerp addcmul addcdiv mse_loss"
)


class Dependence(_PlainMode):
    """Follows a reference: whether all of it is dense, and which of the inputs it reads whole."""

    def __init__(self, inputs: list[torch.Tensor]) -> None:
        super().__init__()
        self._storages = {t.untyped_storage().data_ptr(): number for number, t in enumerate(inputs)}
        self._sizes = [t.numel() for t in inputs]
        self.dense = True
        self.whole: set[int] = set()
        self.product_flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Take one operation in."""
        name = func._schema.name.removeprefix("aten::")  # noqa: SLF001 - the only name it has
        result = func(*args, **(kwargs or {}))
        if func.is_view or name in _FREE:
            return result
        self.dense = self.dense and name in _DENSE
        for value in args:
            if isinstance(value, torch.Tensor):
                if value.dtype is torch.bool:  # a mask
                    self.dense = False
                number = self._storages.get(value.untyped_storage().data_ptr())
                if number is not None and value.numel() >= self._sizes[number]:
                    self.whole.add(number)
        if name in _PRODUCTS:
            self.product_flops += 2 * _PRODUCTS[name](args)
        return result


def _product(left: torch.Tensor, right: torch.Tensor) -> int:
    """Return the multiplications of a matrix product, batched or not."""
    return math.prod(left.shape) * right.shape[-1]


_PRODUCTS: dict[str, Callable[[Any], int]] = {
    "mm": lambda args: _product(args[0], args[1]),
    "bmm": lambda args: _product(args[0], args[1]),
    "addmm": lambda args: _product(args[1], args[2]),
    "baddbmm": lambda args: _product(args[1], args[2]),
    "mv": lambda args: math.prod(args[0].shape),
    "dot": lambda args: math.prod(args[0].shape),
}

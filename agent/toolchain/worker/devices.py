"""Answers a host's wishes for a device it does not have: everything lives on the CPU, or on no device at all.

`HostMode` is a torch function mode: it rewrites device arguments, answers `.cuda()`, `.is_npu`, `.device`, fills what
`torch.empty` leaves undefined, and notices when the host reads a value out of a tensor. `install` puts the modules and
functions in place that a host expects beside torch: `torch_npu`, `torch.npu`, streams, events, a Triton driver.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any

import torch
from rejection import Abandon
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

_DEVICE_NAME = re.compile(r"(cpu|cuda|npu|gpu|xpu|musa|mlu|hpu|privateuseone|meta)(:\d+)?")
_READS: dict[Any, Any] = {
    torch.Tensor.item: 1,
    torch.Tensor.__bool__: True,
    torch.Tensor.__int__: 1,
    torch.Tensor.__index__: 1,
    torch.Tensor.__float__: 1.0,
    torch.Tensor.tolist: None,
    torch.Tensor.numpy: None,
    torch.Tensor.__array__: None,
    torch.allclose: True,
    torch.Tensor.allclose: True,
    torch.equal: True,
    torch.Tensor.equal: True,
}
_SIZED = {torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn}
_UNDEFINED = {
    torch.empty,
    torch.empty_like,
    torch.empty_strided,
    torch.empty_permuted,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
}
# A host this small is run with real tensors, so that values it reads are right; a larger one with meta tensors.
REAL_TENSOR_BYTES = 64 << 20
REAL_TOTAL_BYTES = 256 << 20
REAL_SECONDS = 3.0


class NeedsMeta(Abandon):
    """The host makes tensors too large, or computes too long, to run for real."""


class Unanswerable(RuntimeError):
    """The host reads values that nobody computed."""


def unanswerable(func: Any) -> Unanswerable:
    """Say why `func` has no answer."""
    return Unanswerable(f"{func.__name__}() needs values, and these tensors are too large to compute without a device")


class HostMode(TorchFunctionMode):
    """Run host code on the CPU (`tensors="real"`) or on meta tensors; see the module.

    `poison` makes undefined memory NaN or extreme, so that an element never written shows; else it is zero. `limited`
    raises `NeedsMeta` where running for real would cost too much. `on_read` is called when the host reads a value.
    """

    def __init__(self, *, tensors: str, poison: bool, limited: bool, claimed: str, on_read: Callable[[], None]) -> None:
        super().__init__()
        self.device = torch.device("meta" if tensors == "meta" else "cpu")
        self.meta = tensors == "meta"
        self.poison, self.limited, self.on_read = poison, limited, on_read
        self.claimed = torch.device(claimed)
        self.bytes = 0
        self.start = time.process_time()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Intercept one torch call."""
        kwargs = dict(kwargs or {})
        answer = self._answer_device(func, args)
        if answer is not None:
            return answer[0]
        args = self._rewrite(func, args, kwargs)
        if self.limited and not self.meta:
            self._check_size(func, args, kwargs)
        if func in _READS:
            return self._read(func, args, kwargs)
        result = self._compute(func, args, kwargs)
        if func in _UNDEFINED:
            self._fill(result)
        return self._settle(result)

    def _compute(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        try:
            return func(*args, **kwargs)
        except NotImplementedError as error:
            if self.meta:
                raise unanswerable(func) from error
            raise
        except RuntimeError as error:
            if "can't allocate memory" in str(error):  # what torch's CPU allocator says
                raise (NeedsMeta if self.limited else MemoryError) from error
            raise

    def _answer_device(self, func: Any, args: Any) -> tuple[Any] | None:
        if func in _IS_DEVICE:
            return (True,)
        if func == torch.Tensor.device.__get__:
            return (self.claimed,)
        if func in _MOVES or (func is torch.Tensor.to and len(args) == 2 and _is_device(args[1], with_names=True)):
            return (args[0],)
        return None

    def _rewrite(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if kwargs.get("device") is not None or (self.meta and func in _device_constructors()):
            kwargs["device"] = self.device
        if kwargs.pop("pin_memory", None):
            kwargs["pin_memory"] = False
        if self.meta:
            kwargs.pop("generator", None)
        names = func is torch.Tensor.to
        return tuple(self.device if _is_device(arg, with_names=names) else arg for arg in args)

    def _check_size(self, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        if time.process_time() - self.start > REAL_SECONDS:
            raise NeedsMeta
        if func in _device_constructors():
            size = kwargs.get("size", args if func in _SIZED else args[:1] or ())
            size = size[0] if len(size) == 1 and isinstance(size[0], tuple | list) else size
            if func in _SIZED and all(isinstance(n, int) for n in size) and math.prod(size) * 4 > REAL_TENSOR_BYTES:
                raise NeedsMeta

    def _settle(self, result: Any) -> Any:
        if self.meta and isinstance(result, torch.Tensor) and result.device.type != "meta":
            return result.to("meta")
        if self.limited and not self.meta and isinstance(result, torch.Tensor):
            size = result.untyped_storage().nbytes()
            self.bytes += 0 if result._is_view() else size  # noqa: SLF001 - torch has no public name for it
            if size > REAL_TENSOR_BYTES or self.bytes > REAL_TOTAL_BYTES:
                raise NeedsMeta
        return result

    def _read(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        self.on_read()
        if not self.meta:
            return func(*args, **kwargs)
        if _READS[func] is None:
            raise unanswerable(func)
        return _READS[func]

    def _fill(self, result: torch.Tensor) -> None:
        if self.meta:
            return
        fill_undefined(result) if self.poison else result.zero_()


def fill_undefined(tensor: torch.Tensor) -> None:
    """Make every element NaN, or the least value of its integer type."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        tensor.fill_(float("nan"))
    elif tensor.dtype is torch.bool:
        tensor.fill_(True)  # noqa: FBT003 - a value
    else:
        tensor.fill_(torch.iinfo(tensor.dtype).min or torch.iinfo(tensor.dtype).max)


def _is_device(value: Any, *, with_names: bool) -> bool:
    if isinstance(value, torch.device):
        return True
    return with_names and isinstance(value, str) and _DEVICE_NAME.fullmatch(value) is not None


def _npu(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # noqa: ARG001 - torch_npu's signature
    return self


def add_tensor_methods() -> None:
    """Give tensors and modules what torch_npu would: `.npu()`, `.is_npu`; make `npu` a device name."""
    torch.utils.rename_privateuse1_backend("npu")
    torch.Tensor.npu = _npu
    torch.Tensor.is_npu = property(lambda _: True)
    torch.nn.Module.npu = lambda self, *_a, **_k: self
    torch.nn.Module.cuda = lambda self, *_a, **_k: self


_MOVES = {torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory}
_IS_DEVICE = {torch.Tensor.is_cuda.__get__}


def claimed_device(text: str) -> str:
    """Choose what tensors say their device is: what the host's text asks for."""
    if "npu" not in text and "cuda" in text:
        return "cuda:0"
    return "npu:0"

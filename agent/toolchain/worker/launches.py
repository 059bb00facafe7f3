"""Turns a call `kernel[grid](...)` into data, with Triton's own binder and specialisation."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

import torch
from flavour import IS_UPSTREAM, line_of_def
from rejection import Rejection
from triton.runtime.jit import JITFunction, TensorWrapper

if IS_UPSTREAM:
    import jit_upstream as jit
else:
    import jit_ascend as jit

# Keys of `kernel[grid](..., key=...)` that steer the launch and not the compilation.
_NOT_OPTIONS = {"debug", "stream", "warmup", "grid"}


class Pointer:
    """Stands for a tensor in the binder: its dtype, and an address with the alignment a real allocation would give."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.dtype = tensor.dtype
        self.shape = getattr(tensor, "shape", ())

    def data_ptr(self) -> int:
        """Return the byte offset from the start of the allocation, which is itself aligned."""
        base = self.tensor.base if isinstance(self.tensor, TensorWrapper) else self.tensor
        return int(base.storage_offset() * base.element_size())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tensor, name)


@dataclass
class Call:
    """One launch as made: what the compiler needs, what the record tells, and the values for running it."""

    fn: JITFunction
    signature: dict[str, str]
    constants: dict[str, Any]
    attrs: Any
    options: dict[str, Any]
    backend_options: Any
    grid: tuple[int, int, int]
    bound: dict[str, Any]
    key: str
    group: str = ""
    count: int = 0
    data_dependent: bool = False
    shapes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def run_time_names(self) -> list[str]:
        """Return the parameters that the compiled kernel takes, in order."""
        return [name for name in self.signature if name not in self.constants]

    def identity(self) -> str:
        """Return what makes two launches the same: the artefact, the grid and the arguments' shapes and values."""
        return json.dumps([self.key, self.grid, self.shapes])

    def describe(self) -> dict[str, Any]:
        """Give the wire form of `agent.records.Launch`."""
        return {
            "kernel": self.fn.__name__,
            "file": self.fn.fn.__code__.co_filename,
            "line": line_of_def(self.fn),
            "signature": {name: self.signature[name] for name in self.run_time_names},
            "constexprs": {name: plain(value) for name, value in self.constants.items()},
            "grid": list(self.grid),
            "options": {name: plain(value) for name, value in self.options.items()},
            "arguments": self.shapes,
            "group": self.group,
            "count": self.count,
            "data_dependent": self.data_dependent,
            "divisible_by_16": self._divisible(),
            "key": self.key,
        }

    def _divisible(self) -> list[str]:
        return [name for name in jit.divisible(self.fn, self.attrs) if name in self.run_time_names]


def plain(value: Any) -> Any:
    """Keep JSON's own values, name all others."""
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return str(value)


def bind(fn: JITFunction, backend: Any, target_options: dict[str, Any], args: Any, grid: Any, kwargs: Any) -> Call:
    """Bind one call as `JITFunction.run` does; raises what Triton raises for a call it refuses."""
    kwargs = {"debug": False, **{k: v for k, v in kwargs.items() if k != "warmup"}}
    for hook in fn.pre_run_hooks:
        hook(*args, **kwargs)
    named = {name: _stand_in(value) for name, value in kwargs.items()}
    found = jit.bind_call(fn, backend, target_options, [_stand_in(arg) for arg in args], named)
    given = {name: value for name, value in found.excess.items() if name not in _NOT_OPTIONS}
    actual = {name: value.tensor if isinstance(value, Pointer) else value for name, value in found.bound.items()}
    call = Call(
        fn=fn,
        signature=found.signature,
        constants=found.constants,
        attrs=found.attrs,
        options=given,
        backend_options=found.options,
        grid=resolve_grid(grid, actual),
        bound=actual,
        key=artefact_key(fn, found.signature, found.constants, found.attrs, given),
    )
    call.shapes = describe_arguments(call)
    return call


def describe_arguments(call: Call) -> list[dict[str, Any]]:
    """Describe the run-time arguments: shapes and strides of tensors, values of scalars."""
    return [_shape(name, call.signature[name], call.bound[name]) for name in call.run_time_names]


def resolve_grid(grid: Any, bound: dict[str, Any]) -> tuple[int, int, int]:
    """Call a grid function, and fill up to three integers."""
    if callable(grid):
        grid = grid(bound)
    entries = [grid] if isinstance(grid, int) else list(grid)
    whole = [entry.__index__() for entry in entries[:3]] + [1, 1, 1]
    return whole[0], whole[1], whole[2]


def artefact_key(
    fn: JITFunction, signature: dict[str, str], constants: dict[str, Any], attrs: Any, options: dict[str, Any]
) -> str:
    """Name what the compiler would make: kernel source with all it calls, types, constants, alignment, options."""
    parts = [
        source_identity(fn),
        signature,
        {name: repr(plain(value)) for name, value in constants.items()},
        jit.describe_attrs(attrs),
        {name: repr(plain(value)) for name, value in sorted(options.items())},
    ]
    text = json.dumps(parts, sort_keys=True)
    return f"{fn.__name__}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def source_identity(fn: JITFunction) -> str:
    """Return Triton's hash of the source and of every function it calls, with the globals it reads."""
    try:
        identity = fn.cache_key
    except Exception:  # noqa: BLE001 - Triton's dependency finder refuses some sources; the compiler then says why
        return fn.src
    values = {name: repr(plain(value)) for (name, _), (value, _) in fn.used_global_vals.items()}
    return identity + json.dumps(values, sort_keys=True)


def _stand_in(value: Any) -> Any:
    is_tensor = isinstance(value, torch.Tensor | TensorWrapper)
    return Pointer(value) if is_tensor else value


def _shape(name: str, dtype: str, value: Any) -> dict[str, Any]:
    if isinstance(value, TensorWrapper):
        base = value.base
        return {"name": name, "dtype": dtype, "shape": list(base.shape), "strides": list(base.stride())}
    if isinstance(value, torch.Tensor):
        return {"name": name, "dtype": dtype, "shape": list(value.shape), "strides": list(value.stride())}
    if isinstance(value, bool | int | float):
        return {"name": name, "dtype": dtype, "value": value}
    raise Rejection("odd_argument", name=name, type=type(value).__name__)


def explicit_call(  # noqa: PLR0913 - all that a launch would tell
    fn: JITFunction,
    backend: Any,
    signature: dict[str, str],
    constants: dict[str, Any],
    *,
    options: dict[str, Any],
    target_options: dict[str, Any],
    values: dict[str, Any],
) -> Call:
    """Build a call from what the user wrote down; `values` are run-time integers to specialise for, where told."""
    types, fixed, attrs = jit.explicit(fn, backend, signature, constants, values)
    call = Call(
        fn=fn,
        signature=types,
        constants=fixed,
        attrs=attrs,
        options=options,
        backend_options=backend.parse_options({**target_options, **options}),
        grid=(1, 1, 1),
        bound={name: values[name] for name in types if name in values and name not in fixed},
        key=artefact_key(fn, types, fixed, attrs, options),
    )
    call.shapes = [_shape(name, types[name], value) for name, value in call.bound.items()]
    return call


def line_info_on() -> None:
    """Keep source locations in TTIR: the wheel switches them off by default."""
    os.environ["TRITON_DISABLE_LINE_INFO"] = "0"

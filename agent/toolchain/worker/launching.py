"""Who runs a launch in an execution: a compiled library, or Triton's interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from guarding import Loan
from launches import Call, resolve_grid
from recorder import Choice, Recorder
from rejection import Rejection
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import TensorWrapper
from watching import Watch

_C_TYPES: dict[str, Any] = {
    "i1": ctypes.c_bool,
    "u1": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "fp32": ctypes.c_float,
    "fp64": ctypes.c_double,
}
# Launch options of Triton and Triton-Ascend mean nothing to the interpreter, which refuses what it does not know.
_KEPT_BY_INTERPRETER = {"grid", "warmup"}


class Libraries:
    """Calls `run_<kernel>(arguments…, grid x, y, z)` of each launch's library; notes the launches that have none."""

    def __init__(self, libraries: dict[str, int], blobs: list[bytes], folder: Path, choice: Choice) -> None:
        self.choice, self.watch = choice, Watch()
        self.paths: dict[str, Path] = {}
        self.missing: dict[str, Call] = {}
        self.seen: list[torch.Tensor] = []
        self.strays: dict[str, None] = {}
        self._functions: dict[str, Any] = {}
        self._recorder: Recorder | None = None
        for key, index in libraries.items():
            self.paths[key] = folder / f"library{index}.so"
            self.paths[key].write_bytes(blobs[index])

    def attach(self, recorder: Recorder) -> None:
        """Take the launches of `recorder`."""
        self._recorder = recorder
        recorder.on_call, recorder.choice = self.launch, self.choice
        recorder.install()

    def report(self) -> list[dict[str, Any]]:
        """Describe the launches that were made."""
        return [] if self._recorder is None else [call.describe() for call in self._recorder.finished()]

    def launch(self, call: Call) -> None:
        """Run one call, or note that its library is missing."""
        if call.key not in self.paths:
            self.missing.setdefault(call.key, call)
            return
        with self.watch.paused(), torch._C.DisableTorchFunction():  # noqa: SLF001 - the only door
            loan = Loan()
            lent = {name: loan.lend(name, call.bound[name]) for name in call.run_time_names}
            arguments = [_c_value(name, call.signature[name], lent[name]) for name in call.run_time_names]
            self._function(call)(*arguments, *(ctypes.c_int(n) for n in call.grid))
            self.strays |= {f"{call.fn.__name__}.{name}": None for name in loan.settle()}
        note_tensors(self.seen, call.bound.values())

    def _function(self, call: Call) -> Any:
        if call.key not in self._functions:
            function = getattr(ctypes.CDLL(str(self.paths[call.key])), f"run_{call.fn.__name__}")
            function.restype = None
            self._functions[call.key] = function
        return self._functions[call.key]


class Interpreted:
    """Lets Triton's interpreter run each launch, and keeps a list of them."""

    def __init__(self, choice: Choice) -> None:
        self.choice, self.watch = choice, Watch()
        self.missing: dict[str, Call] = {}
        self.seen: list[torch.Tensor] = []
        self.strays: dict[str, None] = {}
        self._made: dict[tuple[Any, ...], dict[str, Any]] = {}

    def attach(self, _recorder: Recorder) -> None:
        """Wrap the interpreter's launch."""
        inner, choice = interpreter.GridExecutor.__call__, self.choice

        def call(executor: Any, *args: Any, **kwargs: Any) -> None:
            known = {*executor.arg_names, *_KEPT_BY_INTERPRETER}
            kept = {name: value for name, value in kwargs.items() if name in known}
            self._run(inner, executor, args, kept)

        interpreter.GridExecutor.__call__ = call
        Autotuner._bench = lambda tuner, *_args, config, **_meta: choice.bench(tuner, config=config)  # noqa: SLF001

    def _run(self, inner: Callable[..., None], executor: Any, args: Any, kwargs: dict[str, Any]) -> None:
        bound = {**dict(zip(executor.arg_names, args, strict=False)), **kwargs}
        executor.grid = resolve_grid(executor.grid, bound)
        with self.watch.paused(), torch._C.DisableTorchFunction():  # noqa: SLF001 - the only door
            loan = Loan()
            names = [*executor.arg_names, *("" for _ in args)]
            lent = [loan.lend(name, value) for name, value in zip(names, args, strict=False)]
            inner(executor, *lent, **{name: loan.lend(name, value) for name, value in kwargs.items()})
            self.strays |= {f"{executor.fn.__name__}.{name}": None for name in loan.settle()}
        note_tensors(self.seen, bound.values())
        code = executor.fn.__code__
        key = (executor.fn.__name__, executor.grid)
        self._made.setdefault(key, _describe(executor, code))["count"] += 1

    def report(self) -> list[dict[str, Any]]:
        """Describe the launches that were made, as far as the interpreter knows them."""
        return list(self._made.values())


def _describe(executor: Any, code: Any) -> dict[str, Any]:
    return {
        "kernel": executor.fn.__name__,
        "file": code.co_filename,
        "line": code.co_firstlineno,
        "signature": {},
        "constexprs": {},
        "grid": list(executor.grid),
        "options": {},
        "arguments": [],
        "group": "",
        "count": 0,
        "data_dependent": False,
        "key": "",
    }


def note_tensors(seen: list[torch.Tensor], values: Any) -> None:
    """Add the tensors among `values` that are not in `seen` yet."""
    for value in values:
        tensor = value.base if isinstance(value, TensorWrapper) else value
        if isinstance(tensor, torch.Tensor) and all(tensor is not other for other in seen):
            seen.append(tensor)


def _c_value(name: str, kind: str, value: Any) -> Any:
    if kind.startswith("*"):
        base = value.base if isinstance(value, TensorWrapper) else value
        return ctypes.c_void_p(base.data_ptr())
    if kind not in _C_TYPES:
        raise Rejection("odd_argument", name=name, type=kind)
    return _C_TYPES[kind](value)

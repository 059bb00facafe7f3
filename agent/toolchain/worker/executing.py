"""The jobs that compute: inputs, execution with compiled libraries (or Triton's interpreter), the reference."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import forms
import torch
from capturing import lower_calls
from forms import Host, guard
from hosting import Stage
from launches import Call
from rejection import Rejection
from triton.runtime.jit import TensorWrapper
from values import Decoder, Encoder

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
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def make_inputs(header: dict[str, Any], blobs: list[bytes], folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Make a file's inputs for a seed and a shape; the initial inputs of a model come along."""
    stage = Stage(header, blobs, folder, poison=False, limited=False)
    with stage.mode:
        host = stage.load()
        initial = forms.initial_inputs(host)
        given = forms.make_inputs(host, int(header["seed"]), int(header["shape_index"]))
    encoder = Encoder()
    answer = {
        "status": "ok",
        "initial": encoder.encode(initial),
        "inputs": encoder.encode(given),
        "shapes": len(host.get("SHAPES") or ()) or 1,
        "has_reference": host.get("reference") is not None
        or (host.form == forms.MODEL and host.get("Model") is not None),
    }
    return answer, encoder.blobs


def execute(header: dict[str, Any], blobs: list[bytes], folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Run the host with the given inputs; each launch calls its library, and one without is reported, never guessed."""
    stage = Stage(header, blobs, folder, poison=True, limited=False)
    decoder = Decoder(blobs)
    inputs, initial = decoder.decode(header["inputs"]), decoder.decode(header["initial"])
    before = [_storage_copy(t) for t in _tensors(inputs)]
    launcher = _Launcher(header["libraries"], blobs, folder)
    if not INTERPRETED:
        stage.recorder.on_call = launcher.launch
        stage.recorder.choose = lambda call: call.key in launcher.paths
        stage.recorder.install()
    outputs: Any = None
    with stage.mode:
        try:
            host = stage.load()
            outputs = _call(host, inputs, initial)
        except Rejection:
            if not launcher.missing:
                raise
    if launcher.missing:
        return {"status": "missing", "launches": lower_calls(launcher.missing, str(stage.path))}, []
    encoder = Encoder()
    changed = {
        str(i): encoder.encode(t)
        for i, (t, old) in enumerate(zip(_tensors(inputs), before, strict=True))
        if not torch.equal(_storage_copy(t), old)
    }
    answer = {
        "status": "ok",
        "outputs": encoder.encode(outputs),
        "changed": changed,
        "launches": [call.describe() for call in stage.recorder.finished()],
    }
    return answer, encoder.blobs


def _call(host: Host, inputs: tuple[Any, ...], initial: tuple[Any, ...]) -> Any:
    if host.form == forms.CONSTANTS and host.get("run") is None:
        grid, constants = host.get("GRID") or (1,), dict(host.get("CONSTS") or {})
        guard(lambda: host.namespace["KERNEL"][grid](*inputs, **constants), host.path)
        return None
    function = forms.host_function(host, initial)
    return guard(lambda: function(*inputs), host.path)


def reference(header: dict[str, Any], blobs: list[bytes], folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Run `reference` (or `Model`) in float64 where it goes, else as written."""
    stage = Stage(header, blobs, folder, poison=False, limited=False)
    with stage.mode:
        host = stage.load()
        try:
            outputs = _refer(host, header, blobs, upcast=True)
            upcast = all(t.dtype == torch.float64 for t in _tensors(outputs) if t.is_floating_point())
        except Rejection:
            upcast = False
        if not upcast:
            outputs = _refer(host, header, blobs, upcast=False)
    encoder = Encoder()
    return {"status": "ok", "outputs": encoder.encode(outputs), "upcast": upcast}, encoder.blobs


def _refer(host: Host, header: dict[str, Any], blobs: list[bytes], *, upcast: bool) -> Any:
    decoder = Decoder(blobs)
    inputs, initial = decoder.decode(header["inputs"]), decoder.decode(header["initial"])
    torch.manual_seed(int(header.get("seed", 0)))
    function, model = host.get("reference"), host.get("Model")
    if function is None:
        if host.form != forms.MODEL or model is None:
            raise Rejection("no_reference")
        function = guard(lambda: model(*initial), host.path)
        function = function.double() if upcast else function
    given = _upcast(inputs) if upcast else inputs
    outputs = guard(lambda: function(*given), host.path)
    return outputs


def _upcast(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, tuple | list):
        return type(value)(_upcast(item) for item in value)
    return {k: _upcast(v) for k, v in value.items()} if isinstance(value, dict) else value


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in _tensors(item)] if isinstance(value, tuple | list) else []


def _storage_copy(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).clone()


class _Launcher:
    """Calls `run_<kernel>(arguments…, grid x, y, z)` of each launch's library."""

    def __init__(self, libraries: dict[str, int], blobs: list[bytes], folder: Path) -> None:
        self.paths: dict[str, Path] = {}
        self.missing: dict[str, Call] = {}
        self._functions: dict[str, Any] = {}
        for key, index in libraries.items():
            self.paths[key] = folder / f"{index}.so"
            self.paths[key].write_bytes(blobs[index])

    def launch(self, call: Call) -> None:
        """Run one call, or note that its library is missing."""
        if call.key not in self.paths:
            self.missing.setdefault(call.key, call)
            return
        if call.key not in self._functions:
            library = ctypes.CDLL(str(self.paths[call.key]))
            function = getattr(library, f"run_{call.fn.__name__}")
            function.restype = None
            self._functions[call.key] = function
        names = call.run_time_names
        arguments = [_c_value(call.signature[name], call.bound[name]) for name in names]
        self._functions[call.key](*arguments, *(ctypes.c_int(n) for n in call.grid))


def _c_value(kind: str, value: Any) -> Any:
    if kind.startswith("*"):
        base = value.base if isinstance(value, TensorWrapper) else value
        return ctypes.c_void_p(base.data_ptr())
    if kind not in _C_TYPES:
        raise Rejection("odd_argument", name=kind, type=type(value).__name__)
    return _C_TYPES[kind](value)

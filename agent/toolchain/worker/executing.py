"""The jobs that compute: inputs, execution with compiled libraries (or Triton's interpreter), the reference."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import forms
import torch
from capturing import launch_bare, name_types
from forms import Host, guard
from hosting import Stage
from launching import Interpreted, Libraries
from lowering import lower_calls
from recorder import Choice, Recorder
from rejection import Rejection
from values import Decoder, Encoder
from watching import Dependence, Seal

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def make_inputs(header: dict[str, Any], blobs: list[bytes], folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Make a file's inputs for a seed and a shape; the initial inputs of a model come along."""
    stage = Stage(header, blobs, folder, poison=False, limited=False)
    form = forms.tell_form(stage.text, stage.entry)
    if form == forms.BARE or (form == forms.SCRIPT and not stage.entry.function):
        raise Rejection("no_inputs")  # running a script would launch its kernels
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
    before = [_storage_copy(t) for t in tensors_in(inputs)]
    choice = Choice(int(header.get("config", 0)))
    ran = Interpreted(choice) if INTERPRETED else Libraries(header["libraries"], blobs, folder, choice)
    ran.attach(stage.recorder)
    outputs: Any = None
    earlier: Any = None
    watch, seal = ran.watch, Seal()
    with stage.mode:
        try:
            with watch if forms.tell_form(stage.text, stage.entry) == forms.SCRIPT else nullcontext():
                host = stage.load()
            if host.form == forms.CONSTANTS and not INTERPRETED:
                name_types(host, stage.recorder)
            earlier = _call_before(host, stage.recorder, header, blobs)
            with watch:
                outputs = _call(host, stage.recorder, inputs, initial)
        except Rejection:
            if not ran.missing:
                raise
        broken = seal.broken()
    if ran.missing:
        launches = lower_calls(list(ran.missing.values()), str(stage.path), isolated=header.get("isolated", False))
        return {"status": "missing", "launches": launches, "printed_file": str(stage.path)}, []
    encoder = Encoder()
    answer = {
        "status": "ok",
        "outputs": encoder.encode(tuple(ran.seen) if host.form == forms.SCRIPT and outputs is None else outputs),
        "changed": _changed(inputs, before, encoder),
        "launches": ran.report(),
        "strays": list(ran.strays),
        "configs": choice.most,
        "work": watch.work,
        "broken": broken,
        "reused": _share_memory(earlier, outputs, inputs),
        "printed_file": str(stage.path),
    }
    return answer, encoder.blobs


def _call_before(host: Host, recorder: Recorder, header: dict[str, Any], blobs: list[bytes]) -> Any:
    """Call the host with other inputs first, where a case asks for that: what it remembers of them then shows."""
    if header.get("before") is None:
        return None
    decoder = Decoder(blobs)
    return _call(host, recorder, decoder.decode(header["before"]), decoder.decode(header["initial"]))


def _share_memory(earlier: Any, outputs: Any, inputs: Any) -> bool:
    """Tell whether the second call gave memory away that the first caller still holds; inputs are the callers' own."""
    given = {t.untyped_storage().data_ptr() for t in tensors_in(inputs)}
    before = {t.untyped_storage().data_ptr() for t in tensors_in(earlier) if t.numel()}
    return any(t.untyped_storage().data_ptr() in before - given for t in tensors_in(outputs) if t.numel())


def _changed(inputs: Any, before: list[torch.Tensor], encoder: Encoder) -> dict[str, Any]:
    """Encode the input tensors whose memory is not what it was, by their position among all input tensors."""
    pairs = enumerate(zip(tensors_in(inputs), before, strict=True))
    return {str(i): encoder.encode(t) for i, (t, old) in pairs if not torch.equal(_storage_copy(t), old)}


def _call(host: Host, recorder: Recorder, inputs: tuple[Any, ...], initial: tuple[Any, ...]) -> Any:
    if host.form == forms.SCRIPT and not host.entry.function:
        return None
    if host.form == forms.BARE:
        launch_bare(host, recorder, inputs)
        return None
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
            outputs, found = _refer(host, header, blobs, upcast=True)
            upcast = all(t.dtype == torch.float64 for t in tensors_in(outputs) if t.is_floating_point())
        except Rejection:
            upcast = False
        if not upcast:
            outputs, found = _refer(host, header, blobs, upcast=False)
    encoder = Encoder()
    answer = {
        "status": "ok",
        "outputs": encoder.encode(outputs),
        "upcast": upcast,
        "whole": sorted(found.whole) if found.dense else [],
        "product_flops": found.product_flops if found.dense else 0,
    }
    return answer, encoder.blobs


def _refer(host: Host, header: dict[str, Any], blobs: list[bytes], *, upcast: bool) -> tuple[Any, Dependence]:
    """Return the reference's answer, and which inputs that needs whole."""
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
    found = Dependence(tensors_in(given))
    with found:
        return guard(lambda: function(*given), host.path), found


def _upcast(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, tuple | list):
        return type(value)(_upcast(item) for item in value)
    return {k: _upcast(v) for k, v in value.items()} if isinstance(value, dict) else value


def tensors_in(value: Any) -> list[torch.Tensor]:
    """List the tensors of a nested value in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in tensors_in(item)] if isinstance(value, tuple | list) else []


def _storage_copy(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).clone()

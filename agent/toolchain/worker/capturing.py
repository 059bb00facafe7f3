"""The capture job: run host code without a device, record its launches, lower each to TTIR."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import forms
from flavour import IS_UPSTREAM
from forms import Host, guard
from hosting import Stage
from launches import Call, describe_arguments, explicit_call
from lowering import lower_calls
from recorder import Recorder
from rejection import Rejection
from triton.compiler.compiler import make_backend
from triton.runtime.driver import driver
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction


def capture(header: dict[str, Any], blobs: list[bytes], folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Return the answer: form, printed file, launches with TTIR or diagnostic, and what stopped the host, if anything.

    A host that raises after it launched keeps its launches: without a device, what it checks then is not there.
    """
    stage = Stage(header, blobs, folder, poison=False, limited=header.get("tensors") != "meta")
    recorder = stage.recorder
    recorder.install()
    stopped, host = None, None
    with stage.mode:
        try:
            host = stage.load()
            _enter(host, recorder)
        except Rejection as error:
            if not recorder.calls or error.reason != "host_raised":
                raise
            stopped = error.values
    calls = _select(recorder, stage.entry.kernel, host)
    lowered = lower_calls(calls, str(stage.path), isolated=header.get("isolated", False))
    form = host.form if host else forms.tell_form(stage.text, stage.entry)
    answer = {
        "status": "ok",
        "form": form,
        "printed_file": str(stage.path),
        "launches": lowered,
        "stopped": stopped,
        "tensors": header.get("tensors", "real"),
    }
    return answer, []


def _enter(host: Host, recorder: Recorder) -> None:
    """Make the host launch its kernels, as its form says."""
    if host.form == forms.BARE:
        _record_bare(host, recorder)
    elif host.form == forms.CONSTANTS:
        _record_constants(host, recorder)
    elif host.form == forms.SCRIPT and not host.entry.function:
        return
    else:
        _call_host(host)


def _call_host(host: Host) -> None:
    takes_inputs = host.get("make_inputs") or host.get("get_inputs")
    function = forms.host_function(host)
    inputs = forms.make_inputs(host, 0, 0) if takes_inputs else ()
    guard(lambda: function(*inputs), host.path)


def _record_constants(host: Host, recorder: Recorder) -> None:
    """Form 4: `run` gives grid and values; without it the file's GRID and CONSTS have to do."""
    name_types(host, recorder)
    if host.get("run") and host.get("make_inputs"):
        inputs = forms.make_inputs(host, 0, 0)
        guard(lambda: host.namespace["run"](*inputs), host.path)
    else:
        kernel = _kernel_of(host.get("KERNEL"))
        told = {"options": dict(host.get("OPTS") or {}), "values": dict(host.get("INTS") or {})} if IS_UPSTREAM else {}
        call = _explicit(recorder, kernel, dict(host.namespace["SIG"]), dict(host.get("CONSTS") or {}), **told)
        call.grid = _fixed_grid(host.get("GRID"))
        recorder.add(call)


def name_types(host: Host, recorder: Recorder) -> None:
    """Let form 4's SIG win over the types and the specialisation that a call would infer.

    Not with upstream Triton: there the specialisation decides about widths, and is the launch's own.
    """
    if IS_UPSTREAM:
        return
    kernel, signature = _kernel_of(host.get("KERNEL")), dict(host.namespace["SIG"])

    def rebind(call: Call) -> Call:
        if call.fn is not kernel:
            return call
        constants = {name: value for name, value in call.bound.items() if name not in signature}
        named = _explicit(recorder, kernel, signature, constants)
        named.grid, named.bound = call.grid, call.bound
        named.shapes = describe_arguments(named)
        return named

    recorder.rebind = rebind


def _record_bare(host: Host, recorder: Recorder) -> None:
    """Form 5: the command line gives types, constants and grid."""
    kernel, signature = _bare_kernel(host)
    call = _explicit(recorder, kernel, signature, dict(host.entry.constexprs))
    call.grid = _fixed_grid(host.entry.grid or [1])
    recorder.add(call)


def launch_bare(host: Host, recorder: Recorder, inputs: tuple[Any, ...]) -> None:
    """Launch form 5's kernel with values; the interpreter's kernels take them as any caller gives them."""
    if not kernels_of(host):
        kernel = _pick(interpreted_kernels(host), host.entry.kernel)
        names = [name for name in kernel.arg_names if name not in host.entry.constexprs]
        bound = {**dict(zip(names, inputs, strict=True)), **host.entry.constexprs}
        guard(lambda: kernel[_fixed_grid(host.entry.grid or [1])](**bound), host.path)
        return
    kernel, signature = _bare_kernel(host)
    call = _explicit(recorder, kernel, signature, dict(host.entry.constexprs))
    call.grid, call.bound = _fixed_grid(host.entry.grid or [1]), dict(zip(signature, inputs, strict=True))
    call.shapes = describe_arguments(call)
    recorder.add(call)


def _bare_kernel(host: Host) -> tuple[JITFunction, dict[str, str]]:
    """Return form 5's kernel with the types of its run-time arguments; raises `Rejection` where they do not fit."""
    kernels = kernels_of(host)
    if not kernels:
        raise Rejection("no_kernel")
    kernel = _pick(kernels, host.entry.kernel)
    run_time = [p.name for p in kernel.params if p.name not in host.entry.constexprs]
    if len(run_time) != len(host.entry.signature):
        raise Rejection(
            "bad_signature", given=len(host.entry.signature), wanted=len(run_time), names=", ".join(run_time)
        )
    signature = dict(zip(run_time, host.entry.signature, strict=True))
    for name, kind in signature.items():
        if not _is_type(kind):
            raise Rejection("bad_type", name=name, type=kind)
    unknown = [name for name in host.entry.constexprs if name not in kernel.arg_names]
    if unknown:
        raise Rejection("bad_constexpr", name=unknown[0], names=", ".join(kernel.arg_names))
    return kernel, signature


def _is_type(kind: str) -> bool:
    from triton.runtime.jit import type_canonicalisation_dict  # noqa: PLC0415

    return kind.removeprefix("*").removeprefix("k") in {*type_canonicalisation_dict.values(), "i1", "u1"}


def _pick(kernels: dict[str, Any], name: str) -> Any:
    if name:
        if name not in kernels:
            raise _unknown_kernel(name, list(kernels))
        return kernels[name]
    entries = _not_called_by_others(kernels)
    if len(entries) > 1:
        raise Rejection("which_kernel", names=", ".join(entries))
    return kernels[entries[0]]


def _not_called_by_others(kernels: dict[str, Any]) -> list[str]:
    """Leave out jitted helpers that another kernel calls."""
    called = {
        name for name in kernels for other, fn in kernels.items() if other != name and name in fn.fn.__code__.co_names
    }
    return [name for name in kernels if name not in called] or list(kernels)


def kernels_of(host: Host) -> dict[str, JITFunction]:
    """Return the jitted functions at the file's top level by name, tuners and heuristics unwrapped."""
    found = {}
    for value in host.namespace.values():
        fn = _unwrap(value)
        if fn is not None and fn.fn.__code__.co_filename == host.path:
            found[fn.__name__] = fn
    return found


def interpreted_kernels(host: Host) -> dict[str, Any]:
    """Return the file's kernels where Triton's interpreter runs them, by name."""
    found = {name: value for name, value in host.namespace.items() if isinstance(value, InterpretedFunction)}
    return {name: fn for name, fn in found.items() if fn.fn.__code__.co_filename == host.path}


def _unwrap(value: Any) -> JITFunction | None:
    for _ in range(8):
        if isinstance(value, JITFunction):
            return value
        if not type(value).__module__.startswith("triton.") or not hasattr(value, "fn"):
            return None
        value = value.fn
    return None


def _kernel_of(value: Any) -> JITFunction:
    fn = _unwrap(value)
    if fn is None:
        raise Rejection("no_kernel")
    return fn


def _explicit(
    recorder: Recorder,
    kernel: JITFunction,
    signature: dict[str, str],
    constants: dict[str, Any],
    *,
    options: dict[str, Any] | None = None,
    values: dict[str, Any] | None = None,
) -> Call:
    backend = make_backend(driver.active.get_current_target())
    ordered = {name: signature[name] for name in kernel.arg_names if name in signature}
    return explicit_call(
        kernel, backend, ordered, constants,
        options=options or {}, target_options=recorder.target_options, values=values or {},
    )  # fmt: skip


def _fixed_grid(grid: Any) -> tuple[int, int, int]:
    entries = [grid] if isinstance(grid, int) else list(grid or (1,))
    whole = [int(entry) for entry in entries[:3]] + [1, 1, 1]
    return whole[0], whole[1], whole[2]


def _select(recorder: Recorder, name: str, host: Host | None) -> list[Call]:
    calls = recorder.finished()
    if not calls:
        if host is not None and kernels_of(host):
            raise Rejection("no_launch")
        raise Rejection("no_kernel")
    if name:
        chosen = [call for call in calls if call.fn.__name__ == name]
        if not chosen:
            raise _unknown_kernel(name, list(recorder.kernels))
        return chosen
    return calls


def _unknown_kernel(name: str, names: list[str]) -> Rejection:
    near = difflib.get_close_matches(name, names, n=3) or names[:5]
    return Rejection("unknown_kernel", name=name, near=", ".join(near))

"""Binding and specialising as Triton-Ascend's `JITFunction.run` does it, and its front end."""

from __future__ import annotations

from typing import Any

from specialised import Specialised
from triton._C.libtriton import ir
from triton.backends.ascend.compiler import AscendAttrsDescriptor, make_ttir
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction


def bind_call(
    fn: JITFunction, backend: Any, target_options: dict[str, Any], args: list[Any], kwargs: dict[str, Any]
) -> Specialised:
    """Bind one call; raises what Triton raises for a call it refuses."""
    if fn.binder is None:
        fn.create_binder(backend)
    if fn.bishengir_option:
        kwargs.update(fn.bishengir_option)
    bound, spec, _, _, excess = fn.binder(*args, **kwargs)
    options = backend.parse_options({**target_options, **kwargs})
    for name in excess:
        if name not in options.__dict__:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    signature, constants, attrs = _specialise(fn, backend, bound, spec)
    return Specialised(bound, signature, constants, attrs, options, excess)


def explicit(
    fn: JITFunction, backend: Any, signature: dict[str, str], constants: dict[str, Any], _values: dict[str, Any]
) -> tuple[dict[str, str], dict[str, Any], Any]:
    """Give types that the user wrote down as a specialisation; nothing is specialised beyond them."""
    if fn.binder is None:
        fn.create_binder(backend)
    return signature, constants, AscendAttrsDescriptor()


def divisible(fn: JITFunction, attrs: Any) -> list[str]:
    """Name the arguments that are compiled for as divisible by 16."""
    return [fn.arg_names[i] for i in attrs.arg_properties.get("tt.divisibility", [])]


def describe_attrs(attrs: Any) -> Any:
    """Give the attributes as JSON, for a key."""
    return attrs.arg_properties


def make_ir(call: Any, backend: Any) -> str:
    """Run the front end and the first passes; return TTIR with locations."""
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(call.fn, call.signature, call.constants, call.attrs)
    module = source.make_ir(
        call.backend_options, backend.get_codegen_implementation(), backend.get_module_map(), context
    )
    return str(make_ttir(module, {"hash": call.key}, call.backend_options))


def _specialise(fn: JITFunction, backend: Any, bound: dict[str, Any], spec: Any) -> tuple[dict[str, str], Any, Any]:
    """Give signature, constants and attributes exactly as the compiler would (triton/runtime/jit.py, `run`)."""
    names = [fn.params[i].name for i in fn.non_constexpr_indices]
    signature = {k: "*i8" if v == "none" else v for k, v in zip(names, spec, strict=False)}
    values = tuple(bound.values())
    attrs = backend.get_attrs_descriptor(fn.params, values)
    specialised = attrs.get_constants()
    constants = {
        p.name: v for v, p in zip(values, fn.params, strict=True) if p.is_constexpr or p.num in specialised or v is None
    }
    for name, value in constants.items():
        if callable(value) and not isinstance(value, type) and not isinstance(value, JITFunction):
            raise TypeError(f"Callable constexpr at index {name} is not supported")
    return signature, constants, attrs

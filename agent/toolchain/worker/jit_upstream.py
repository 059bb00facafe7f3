"""Binding and specialising as upstream Triton's `JITFunction.run` does it, and its front end."""

from __future__ import annotations

from typing import Any

from specialised import Specialised
from triton._C.libtriton import ir
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction, create_function_from_signature

_ALIGNED = [["tt.divisibility", 16]]


def bind_call(
    fn: JITFunction, backend: Any, target_options: dict[str, Any], args: list[Any], kwargs: dict[str, Any]
) -> Specialised:
    """Bind one call; raises what Triton raises for a call it refuses.

    Multiples of 16 become `tt.divisibility`, a 1 becomes a constant, and `do_not_specialize` holds, since it is
    Triton's own binder that decides.
    """
    binder = create_function_from_signature(fn.signature, fn.params, backend)
    bound, spec, excess = binder(*args, **kwargs)
    options, signature, constants, attrs = fn._pack_args(backend, {**target_options, **kwargs}, bound, spec, excess)  # noqa: SLF001 - the only door
    named = {fn.arg_names[path[0]]: value for path, value in constants.items() if len(path) == 1}
    types = {name: kind if isinstance(kind, str) else str(kind) for name, kind in signature.items()}
    return Specialised(bound, types, named, (signature, constants, attrs), options, excess)


def explicit(
    fn: JITFunction, _backend: Any, signature: dict[str, str], constants: dict[str, Any], values: dict[str, Any]
) -> tuple[dict[str, str], dict[str, Any], Any]:
    """Specialise types that the user wrote down as a launch with these values would.

    A pointer counts as aligned, as every allocation is; an integer without a value is left alone.
    """
    fixed, attrs = dict(constants), {}
    for i, parameter in enumerate(fn.params):
        kind, value = signature.get(parameter.name), values.get(parameter.name)
        if kind is None or parameter.do_not_specialize:
            continue
        if kind.startswith("*"):
            attrs[(i,)] = _ALIGNED
        elif isinstance(value, int) and not isinstance(value, bool) and value == 1:
            fixed[parameter.name] = 1
        elif isinstance(value, int) and value % 16 == 0 and not parameter.do_not_specialize_on_alignment:
            attrs[(i,)] = _ALIGNED
    types = {name: "constexpr" if name in fixed else signature[name] for name in fn.arg_names}
    paths = {(fn.arg_names.index(name),): value for name, value in fixed.items()}
    return types, fixed, (types, paths, attrs)


def divisible(fn: JITFunction, attrs: Any) -> list[str]:
    """Name the arguments that are compiled for as divisible by 16."""
    found = [path[0] for path, values in attrs[2].items() if ["tt.divisibility", 16] in [list(v) for v in values]]
    return list(dict.fromkeys(fn.arg_names[i] for i in found))


def describe_attrs(attrs: Any) -> Any:
    """Give the attributes as JSON, for a key."""
    return sorted((str(path), str(values)) for path, values in attrs[2].items())


def make_ir(call: Any, backend: Any) -> str:
    """Run the front end; return TTIR with locations, before any pass."""
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    signature, constants, attrs = call.attrs
    source = ASTSource(call.fn, signature, constants, attrs)
    options = call.backend_options
    codegen = backend.get_codegen_implementation(options)
    return str(source.make_ir(backend.target, options, codegen, backend.get_module_map(), context))

"""A recorded launch -> TTIR with locations, or the diagnostic that says why not."""

from __future__ import annotations

from typing import Any

from launches import Call
from triton._C.libtriton import ir
from triton.backends.ascend.compiler import make_ttir
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError
from triton.runtime.jit import get_jit_fn_file_line


def lower(call: Call, backend: Any, path: str) -> dict[str, Any]:
    """Return `{"ttir": text}` or `{"diagnostic": {"message", "line"}}`."""
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    try:
        source = ASTSource(call.fn, call.signature, call.constants, call.attrs)
        module = source.make_ir(
            call.backend_options, backend.get_codegen_implementation(), backend.get_module_map(), context
        )
        return {"ttir": str(make_ttir(module, {"hash": call.key}, call.backend_options))}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the front end raises is its diagnostic
        return {"diagnostic": explain(error, call, path)}


def explain(error: BaseException, call: Call, path: str) -> dict[str, Any]:
    """Give the innermost message and the innermost line in the user's file."""
    own = _functions_of(call, path)
    line, cause = get_jit_fn_file_line(call.fn)[1], error
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, CompilationError) and seen.src in own and hasattr(seen.node, "lineno"):
            line = own[seen.src] + seen.node.lineno - 1
        cause = seen
        seen = seen.__cause__
    text = cause.error_message if isinstance(cause, CompilationError) else f"{type(cause).__name__}: {cause}"
    return {"message": (text or str(cause)).strip(), "line": line}


def _functions_of(call: Call, path: str) -> dict[str, int]:
    """Map the source of each jitted function of the user's file to the line of its `def`."""
    found = {call.fn.src: get_jit_fn_file_line(call.fn)[1]}
    for value in call.fn.__globals__.values():
        if hasattr(value, "src") and hasattr(value, "fn") and value.fn.__code__.co_filename == path:
            found[value.src] = get_jit_fn_file_line(value)[1]
    return found

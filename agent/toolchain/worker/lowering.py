"""A recorded launch -> TTIR with locations, or the diagnostic that says why not."""

from __future__ import annotations

import os
from typing import Any

import frames
import phase
from flavour import line_of_def
from launches import Call, jit
from triton.compiler.compiler import make_backend
from triton.compiler.errors import CompilationError
from triton.runtime.driver import driver


def lower_calls(calls: list[Call], path: str, *, isolated: bool) -> list[dict[str, Any]]:
    """Describe each call, with its TTIR or its diagnostic; `isolated` keeps a crash of one from the others."""
    backend = make_backend(driver.active.get_current_target())
    phase.enter_lowering()
    lowered = _lower_apart if isolated else lower
    return [{**call.describe(), **lowered(call, backend, path)} for call in calls]


def _lower_apart(call: Call, backend: Any, path: str) -> dict[str, Any]:
    """Lower in a child of this job, whose death is a diagnostic too."""
    answer, answer_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            frames.write_frame(answer_write, lower(call, backend, path))
        finally:
            os._exit(0)
    os.close(answer_write)
    try:
        header, _ = frames.read_frame(answer)
    except frames.FrameError:
        _, status = os.waitpid(child, 0)
        line = line_of_def(call.fn)
        return {"diagnostic": {"message": f"Triton's front end crashed (signal {os.WTERMSIG(status)})", "line": line}}
    return {name: header[name] for name in ("ttir", "diagnostic") if name in header}


def lower(call: Call, backend: Any, path: str) -> dict[str, Any]:
    """Return `{"ttir": text}` or `{"diagnostic": {"message", "line"}}`."""
    try:
        return {"ttir": jit.make_ir(call, backend)}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the front end raises is its diagnostic
        return {"diagnostic": explain(error, call, path)}


def explain(error: BaseException, call: Call, path: str) -> dict[str, Any]:
    """Give the innermost message and the innermost line in the user's file."""
    own = _functions_of(call, path)
    line, cause = line_of_def(call.fn), error
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
    found = {call.fn.src: line_of_def(call.fn)}
    for value in call.fn.__globals__.values():
        if hasattr(value, "src") and hasattr(value, "fn") and value.fn.__code__.co_filename == path:
            found[value.src] = line_of_def(value)
    return found

"""Which of the five forms of kernel input a file has, told from its text alone, and how each is entered."""

from __future__ import annotations

import ast
import difflib
import inspect
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rejection import Abandon, Rejection, host_raised, syntax_error

FUNCTIONS, MODEL, SCRIPT, CONSTANTS, BARE = "functions", "model", "script", "constants", "bare"


@dataclass
class Entry:
    """What the user said beside the file (the wire form of `agent.records.Entry`)."""

    function: str = ""
    kernel: str = ""
    signature: list[str] = field(default_factory=list)
    constexprs: dict[str, Any] = field(default_factory=dict)
    grid: list[int] | None = None


@dataclass
class Host:
    """A loaded file: its namespace, its form, the path under which the compiler knows it."""

    form: str
    path: str
    entry: Entry
    namespace: dict[str, Any]

    def get(self, name: str) -> Any:
        """Return a top-level name, None where it is not there."""
        return self.namespace.get(name)


def tell_form(text: str, entry: Entry) -> str:
    """Tell the form of `text` without running it; raises `Rejection` for a syntax error or two forms at once."""
    try:
        names = _top_level_names(ast.parse(text))
    except SyntaxError as error:
        raise syntax_error(error) from error
    except (ValueError, RecursionError) as error:
        raise Rejection("syntax", line=0, text="", problem=str(error)) from error
    if entry.signature:
        return BARE
    if entry.function:
        return SCRIPT
    if {"KERNEL", "SIG"} <= names:
        return CONSTANTS
    functions, model = {"make_inputs", "run"} <= names, "get_inputs" in names
    if functions and model:
        raise Rejection("ambiguous_form")
    return FUNCTIONS if functions else MODEL if model else SCRIPT


def _top_level_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        else:
            names.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return names


def load(text: str, path: Path, entry: Entry) -> Host:
    """Run the file's top level; a script runs as `__main__`, which is all of it."""
    form = tell_form(text, entry)
    name = "__main__" if form == SCRIPT and not entry.function else path.stem
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    sys.argv = [str(path)]
    sys.path.insert(0, str(path.parent))
    guard(lambda: exec(compile(text, str(path), "exec"), module.__dict__), str(path))  # noqa: S102 - a job's purpose
    return Host(form, str(path), entry, module.__dict__)


def guard(action: Callable[[], Any], path: str) -> Any:
    """Run host code; what it raises becomes a `Rejection`, except our own and memory."""
    try:
        return action()
    except (Rejection, Abandon, MemoryError):
        raise
    except SystemExit as error:
        if error.code not in (None, 0):
            raise host_raised(error, path) from error
        return None
    except BaseException as error:
        raise host_raised(error, path) from error


def make_inputs(host: Host, seed: int, shape_index: int) -> tuple[Any, ...]:
    """Call the file's own input maker: `make_inputs(seed[, SHAPES[i]])` or `get_inputs()`."""
    maker = host.get("make_inputs") or host.get("get_inputs")
    if maker is None:
        raise Rejection("no_inputs")
    shapes = host.get("SHAPES")
    count = positional_count(maker)
    if host.get("make_inputs") is None or count == 0:
        given = guard(maker, host.path)
    elif shapes and count > 1:
        if not 0 <= shape_index < len(shapes):
            raise Rejection("no_shape", index=shape_index, count=len(shapes))
        given = guard(lambda: maker(seed, shapes[shape_index]), host.path)
    else:
        given = guard(lambda: maker(seed), host.path)
    return tuple(given) if isinstance(given, tuple | list) else (given,)


def initial_inputs(host: Host) -> tuple[Any, ...]:
    """Call `get_init_inputs()` where there is one."""
    maker = host.get("get_init_inputs")
    given = guard(maker, host.path) if maker else ()
    return tuple(given) if isinstance(given, tuple | list) else (given,)


def positional_count(function: Callable[..., Any]) -> int:
    """Return how many positional arguments `function` takes."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds for p in inspect.signature(function).parameters.values())


def host_function(host: Host, initial: tuple[Any, ...] | None = None) -> Callable[..., Any]:
    """Return what is called with the inputs; a model is made with `initial`, else with its own initial inputs."""
    if host.entry.function:
        return _named_function(host)
    if host.form in (FUNCTIONS, CONSTANTS):
        return host.namespace["run"]
    model = host.get("ModelNew") or host.get("Model")
    if model is not None and (host.get("ModelNew") is not None or not _single_host_function(host)):
        given = initial_inputs(host) if initial is None else initial
        return guard(lambda: model(*given), host.path)
    function = _single_host_function(host)
    if function is None:
        raise Rejection("no_host")
    return function


def _named_function(host: Host) -> Callable[..., Any]:
    name = host.entry.function
    found = host.get(name)
    if not callable(found):
        callables = [k for k, v in host.namespace.items() if isinstance(v, types.FunctionType)]
        near = difflib.get_close_matches(name, callables, n=3) or callables[:5]
        raise Rejection("no_function", name=name, near=", ".join(near))
    return found


def _single_host_function(host: Host) -> Callable[..., Any] | None:
    """Return the one plain function that is no maker of inputs; the last one, where several were defined."""
    makers = {"get_inputs", "get_init_inputs", "make_inputs", "reference"}
    named = [
        value
        for name, value in host.namespace.items()
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == host.path and name not in makers
    ]
    return named[-1] if named else None

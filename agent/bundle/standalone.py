"""A kernel without its host: the Triton functions of the file, and the launch written down as data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.records import KernelSource, Launch

_MODULES = ("triton",)


def standalone(source: KernelSource, launch: Launch) -> str | None:
    """Return a file that compiles to the same launch; None where the launch holds a value that no file can state.

    Host code, comments and docstrings stay behind: they are not needed, and may say what should not be told.
    """
    if not all(_is_literal(value) for value in launch.constexprs.values()):
        return None
    tree = ast.parse(source.text)
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and _is_compiled(n)}
    if launch.kernel not in functions:
        return None
    wanted = _reached(launch.kernel, functions)
    read = {name for name in wanted for name in _names(functions[name])}
    kept = [n for n in tree.body if _is_import(n) or _is_constant(n, read)]
    bodies = [_bare(functions[name]) for name in functions if name in wanted]
    launched = {
        "SIG": dict(launch.signature),
        "CONSTS": dict(launch.constexprs),
        "GRID": tuple(launch.grid),
    }
    lines = [f"KERNEL = {launch.kernel}", *(f"{name} = {value!r}" for name, value in launched.items())]
    parts = ["\n".join(ast.unparse(n) for n in kept), *(ast.unparse(f) for f in bodies), "\n".join(lines)]
    return "\n\n\n".join(parts) + "\n"


def _is_literal(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _is_compiled(function: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(d) for d in function.decorator_list)


def _is_import(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return all(alias.name.split(".")[0] in _MODULES for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _MODULES


def _is_constant(node: ast.stmt, read: set[str]) -> bool:
    """Tell whether a top-level statement gives a name that the functions read a value known from the file alone."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    named = {t.id for t in targets if isinstance(t, ast.Name)}
    return bool(named & read) and _names(node.value) <= {"tl", "triton", "constexpr"}


def _reached(name: str, functions: dict[str, ast.FunctionDef]) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        new = (_names(functions[waiting.pop()]) & set(functions)) - found
        found |= new
        waiting += new
    return found


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function with the decorator that compiles it only (an autotuner has chosen), and without a docstring."""
    kept = [d for d in function.decorator_list if "jit" in ast.unparse(d)]
    body = list(_without_docstring(function.body))
    return ast.FunctionDef(function.name, function.args, body, kept, function.returns, lineno=1, col_offset=0)


def _without_docstring(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for place, statement in enumerate(body):
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if place or not text:
            yield statement
    if len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        yield ast.Pass()

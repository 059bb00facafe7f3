"""A row at once: loops over a row in steps become one step, so that the row is read from memory once.

Every pass of a loop kernel reads the row again, from the cache at best. With a block that holds the whole row the loops
are straight code, and the compiler merges loads that are the same.
"""

from __future__ import annotations

import ast
import copy

from agent.configurations.forms import has_dot
from agent.configurations.places import KernelText, edited, place_of


def whole_row(file: KernelText) -> str | None:
    """Replace all loops `range(0, n, BLOCK)` over one parameter `n` by one step with BLOCK = next_power_of_2(n)."""
    kernel = file.launch.kernel
    if has_dot(kernel):
        return None
    loops = [node for node in ast.walk(kernel) if isinstance(node, (ast.For, ast.While))]
    ranges = {_range(loop) for loop in loops}
    if len(ranges) != 1 or None in ranges:
        return None
    bound, step = next(iter(ranges)) or ("", "")
    parameters = [a.arg for a in kernel.args.args]
    passed = _passed(file, bound, parameters)
    block = next((k for k in file.launch.call.keywords if k.arg == step), None)
    if passed is None or block is None:
        return None
    edits = [(place_of(block.value), f"triton.next_power_of_2({passed})")]
    lines = edited(file.text, edits).splitlines()
    new = copy.deepcopy(kernel)
    new.body = _straightened(new.body)
    first = min([kernel.lineno, *(d.lineno for d in kernel.decorator_list)])
    text = ast.unparse(ast.fix_missing_locations(new)).splitlines()
    return "\n".join([*lines[: first - 1], *text, *lines[kernel.end_lineno :]]) + "\n"


def _range(loop: ast.For | ast.While) -> tuple[str, str] | None:
    """Return bound and step of `for x in range(0, bound, step)` over names."""
    match loop:
        case ast.For(
            target=ast.Name(),
            iter=ast.Call(
                func=ast.Name(id="range"), args=[ast.Constant(value=0), ast.Name(id=bound), ast.Name(id=step)]
            ),
            orelse=[],
        ):
            return bound, step
        case _:
            return None


def _passed(file: KernelText, bound: str, parameters: list[str]) -> str | None:
    """Return what the host would write for the bound: what it passes, or what the kernel makes of what it passes."""
    given = dict(zip(parameters, file.launch.call.args, strict=False))
    if bound in given:
        value = given[bound]
        return ast.unparse(value) if isinstance(value, (ast.Name, ast.Subscript, ast.Attribute)) else None
    made = [
        node.value
        for node in ast.walk(file.launch.kernel)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == bound for t in node.targets)
    ]
    arithmetic = (ast.BinOp, ast.Name, ast.Constant, ast.operator, ast.expr_context)
    if len(made) != 1 or not all(isinstance(n, arithmetic) for n in ast.walk(made[0])):
        return None
    if not all(n.id in given for n in ast.walk(made[0]) if isinstance(n, ast.Name)):
        return None
    return ast.unparse(_Substituted(given).visit(copy.deepcopy(made[0])))


class _Substituted(ast.NodeTransformer):
    """Puts the host's arguments in the place of the kernel's parameters."""

    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a parameter."""
        return self.given[node.id]


def _straightened(body: list[ast.stmt]) -> list[ast.stmt]:
    """Put the body of each loop in its place, its variable being zero."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.For):
            found.append(ast.Assign([statement.target], ast.Constant(0)))
            found += _straightened(statement.body)
        else:
            found.append(statement)
    return found

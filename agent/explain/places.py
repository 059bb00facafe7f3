"""Lines that the front end does not tell: where in the source a refused construct stands."""

from __future__ import annotations

import ast

from agent.records import Launch
from agent.symptoms.edits import Code, is_call

# What makes one value of a tile.
_REDUCERS = ("max", "min", "sum", "reduce", "argmax", "argmin", "xor_sum")


def return_inside(source: str, line: int | None) -> int | None:
    """Return the first `return` of the statement on a line, the line itself where there is none."""
    around = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt) and n.lineno == line]
    returns = [n.lineno for statement in around for n in ast.walk(statement) if isinstance(n, ast.Return)]
    return min(returns, default=line)


def tile_condition(source: str, launch: Launch) -> int | None:
    """Return the first `if` or `while` of a kernel whose condition is a whole tile, None where none is seen."""
    if not any(isinstance(n, ast.FunctionDef) and n.name == launch.kernel for n in ast.walk(ast.parse(source))):
        return None
    code = Code(source, 0, launch)
    branches = [n for n in ast.walk(code.function) if isinstance(n, (ast.If, ast.While, ast.IfExp))]
    return min((n.lineno for n in branches if _is_tile(code, n.test)), default=None)


def _is_tile(code: Code, test: ast.expr) -> bool:
    reduced = any(is_call(n, *_REDUCERS) for root in code.feeding([test]) for n in ast.walk(root))
    return code.is_tensor(test) and not reduced

"""Values set in a kernel file by name: where its top level, its constants or its launches say them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping


def with_names(text: str, values: Mapping[str, object]) -> str:
    """Return the file with names bound at its top level, keys of `CONSTS`, and keywords of calls set to `values`.

    A name that the file does not set in any of these ways leaves it as it is; no line moves.
    """
    if not values:
        return text
    lines = text.splitlines(keepends=True)
    places = sorted(_places(ast.parse(text), values), key=lambda p: (p[0].lineno, p[0].col_offset), reverse=True)
    for node, value in places:
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            continue
        raw = lines[node.lineno - 1].encode()
        new = raw[: node.col_offset] + repr(value).encode() + raw[node.end_col_offset :]
        lines[node.lineno - 1] = new.decode()
    return "".join(lines)


def _places(tree: ast.Module, values: Mapping[str, object]) -> Iterator[tuple[ast.expr, object]]:
    assigned = [statement for statement in tree.body if isinstance(statement, ast.Assign)]
    named: list[tuple[object, ast.expr]] = [
        (target.id, s.value) for s in assigned for target in s.targets if isinstance(target, ast.Name)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            named += [(key.value, value) for key, value in pairs if isinstance(key, ast.Constant)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):  # kernel[grid](...)
            named += [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg]
    return ((place, values[str(name)]) for name, place in named if name in values)

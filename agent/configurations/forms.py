"""Small changes of a kernel's source that the searched configurations do not reach; each gives a text or None."""

from __future__ import annotations

import ast

from agent.configurations.places import KernelText, Place, edited, place_of


def has_dot(kernel: ast.FunctionDef) -> bool:
    """Tell whether a kernel multiplies tiles."""
    return any(isinstance(n, ast.Attribute) and n.attr in {"dot", "dot_scaled"} for n in ast.walk(kernel))


def grouped_order(file: KernelText, group: int = 8) -> str | None:
    """Let programs walk in groups of `group` tile rows, so that those in flight share operands in the L2 cache.

    Right whatever the kernel does: it renames programs, one to one (tl.swizzle2d).
    """
    kernel = file.launch.kernel
    calls = [node for node in ast.walk(kernel) if _is_call(node, "program_id")]
    axes = {_axis(node) for node in calls}
    if not has_dot(kernel) or not {0, 1} <= axes or not axes <= {0, 1, 2}:
        return None
    language = ast.unparse(calls[0].func).rpartition(".")[0]  # type: ignore[attr-defined]
    edits = [(place_of(c), f"program_{_axis(c)}") for c in calls if _axis(c) in {0, 1}]  # type: ignore[arg-type]
    first = next(s for s in kernel.body if not _is_docstring(s))
    ids = ", ".join(f"{language}.program_id({axis})" for axis in (1, 0))
    counts = ", ".join(f"{language}.num_programs({axis})" for axis in (1, 0))
    indent = " " * first.col_offset
    line = f"{indent}program_1, program_0 = {language}.swizzle2d({ids}, {counts}, {group})\n"
    return edited(file.text, [*edits, (Place(first.lineno, 0, 0), line)])


def staged_loops(file: KernelText, stages: int) -> str | None:
    """Give loops that load, and multiply no tiles, their own number of stages: the launch's does not reach them."""
    kernel = file.launch.kernel
    if has_dot(kernel):
        return None
    edits: list[tuple[Place, str]] = []
    for node in ast.walk(kernel):
        if isinstance(node, ast.For) and _is_call(node.iter, "range", bare=True) and _loads(node):
            place = place_of(node.iter)
            inner = ast.unparse(node.iter)[:-1]
            edits.append((place, f"tl.{inner}, num_stages={stages})"))
    return edited(file.text, edits) if edits else None


def tf32x3(file: KernelText) -> str | None:
    """Let an "ieee" product of fp32 run on tensor cores as three products of parts, which keeps its precision."""
    edits = [
        (place_of(keyword.value), '"tf32x3"')
        for node in ast.walk(file.launch.kernel)
        if _is_call(node, "dot")
        for keyword in node.keywords  # type: ignore[attr-defined]
        if keyword.arg == "input_precision"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value == "ieee"
    ]
    return edited(file.text, edits) if edits else None


def dot_from_sum(file: KernelText) -> str | None:
    """Write `sum(a[:, :, None] * b[None, :, :], axis=1)` as a product of tiles, without the widening before it.

    16-bit operands lose nothing: their products are exact in the accumulator's fp32.
    """
    for node in ast.walk(file.launch.kernel):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="sum", value=language),
                args=[ast.BinOp(op=ast.Mult(), left=ast.Subscript() as left, right=ast.Subscript() as right)],
            ) if ast.unparse(left.slice) == "(:, :, None)" and ast.unparse(right.slice) == "(None, :, :)":
                a, b = (_narrow(side.value) for side in (left, right))
                return edited(file.text, [(place_of(node), f"{ast.unparse(language)}.dot({a}, {b})")])
    return None


def hoisted_scale(file: KernelText) -> str | None:
    """Scale the sum once after a loop, where each product `acc += dot(a, b) * scale` is scaled in it.

    Only for a sum that starts from zeros, and a scale that is a parameter of the kernel: then it is the same number.
    """
    kernel = file.launch.kernel
    parameters = {a.arg for a in kernel.args.args}
    for loop in (n for n in kernel.body if isinstance(n, ast.For)):
        for node in loop.body:
            match node:
                case ast.AugAssign(
                    target=ast.Name(id=total),
                    op=ast.Add(),
                    value=ast.BinOp(left=ast.Call() as dot, op=ast.Mult(), right=ast.Name(id=scale)) as product,
                ) if _is_call(dot, "dot") and scale in parameters and _starts_from_zeros(kernel, total):
                    after = Place((loop.end_lineno or 0) + 1, 0, 0)
                    line = f"{' ' * loop.col_offset}{total} = {total} * {scale}\n"
                    return edited(file.text, [(place_of(product), ast.unparse(dot)), (after, line)])
    return None


def _starts_from_zeros(kernel: ast.FunctionDef, name: str) -> bool:
    made = [s.value for s in kernel.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == name]
    others = sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(kernel))
    return len(made) == 1 and others == 2 and _is_call(made[0], "zeros")


def _narrow(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr="to", value=inner)):
            return ast.unparse(inner)
        case _:
            return ast.unparse(node)


def _is_call(node: ast.AST, name: str, *, bare: bool = False) -> bool:
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Name(id=called):
            return bare and called == name
        case ast.Attribute(attr=called):
            return not bare and called == name
        case _:
            return False


def _axis(node: ast.AST) -> int | None:
    match node:
        case (
            ast.Call(args=[ast.Constant(value=int(axis))])
            | ast.Call(keywords=[ast.keyword(value=ast.Constant(value=int(axis)))])
        ):
            return axis
        case _:
            return None


def _loads(loop: ast.For) -> bool:
    return any(_is_call(node, "load") for node in ast.walk(loop))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)

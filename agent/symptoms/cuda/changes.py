"""The counterfactuals of the CUDA symptoms: an option, or the smallest edit of the source; results may change."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from agent.records import Structure
from agent.symptoms.base import Subject, Variant
from agent.symptoms.edits import Code, Edit, is_call
from indexer.messages import message

Counterfactual = Callable[[Subject, Structure], Variant | None]


def variant(symptom: str, structure: Structure, edit: Edit | None) -> Variant | None:
    """Offer an edit; its message is `cuda.<symptom>_change`."""
    if edit is None:
        return None
    line = structure.line or 0
    note = message(f"cuda.{symptom}_change", line=line, before=edit.before, after=edit.after)
    return Variant(note, edit.source)


def with_option(symptom: str, name: str, value: Callable[[Subject, Structure], int | None]) -> Counterfactual:
    """Offer another value of a launch option."""

    def change(subject: Subject, structure: Structure) -> Variant | None:
        new = value(subject, structure)
        if new is None:
            return None
        before = subject.launch.options.get(name, "-")
        shown = {"line": structure.line or 0, "before": f"{name}={before}", "after": f"{name}={new}"}
        return Variant(message(f"cuda.{symptom}_change", **shown), options={name: new})

    return change


def code_at(subject: Subject, structure: Structure) -> Code | None:
    """Return the source around a structure's line."""
    return Code(subject.source, structure.line, subject.launch) if structure.line is not None else None


def on_line(symptom: str, visit: Callable[[Code, ast.expr], ast.expr | str | None]) -> Counterfactual:
    """Offer the edit that `visit` makes to the statements on the structure's line."""

    def change(subject: Subject, structure: Structure) -> Variant | None:
        code = code_at(subject, structure)
        if code is None:
            return None
        return variant(symptom, structure, code.change(code.here(), lambda node: visit(code, node)))

    return change


def with_multiples(symptom: str, names: Callable[[Subject, Structure], Iterable[str]]) -> Counterfactual:
    """Offer to round arguments to multiples of 16 at the start of the kernel, which the compiler can see."""

    def change(subject: Subject, structure: Structure) -> Variant | None:
        code = code_at(subject, structure)
        found = list(names(subject, structure))
        if code is None or not found:
            return None
        rounded = "; ".join(f"{name} = {name} // 16 * 16" for name in found)
        return variant(symptom, structure, _insert(code, rounded))

    return change


def _insert(code: Code, text: str) -> Edit:
    """Insert a line at the start of the kernel's body."""
    first = code.kernel.body[0]
    lines = code.source.splitlines(keepends=True)
    lines.insert(first.lineno - 1, " " * first.col_offset + text + "\n")
    return Edit("".join(lines), "", text)


def without_division(_code: Code, node: ast.expr) -> ast.expr | None:
    """Take the dividend of an integer division or remainder."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
        return node.left
    return None


def without_stride(code: Code, node: ast.expr) -> ast.expr | None:
    """Take the range of a range that is multiplied by a stride."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    sides = [side for side in (node.left, node.right) if code.is_tensor(side)]
    return sides[0] if len(sides) == 1 else None


def product_for_quotient(_code: Code, node: ast.expr) -> str | None:
    """Multiply where a division stands."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"({ast.unparse(node.left)}) * ({ast.unparse(node.right)})"
    return None


def dot_alone(_code: Code, node: ast.expr) -> ast.expr | None:
    """Take a dot out of the product that scales it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        dots = [side for side in (node.left, node.right) if is_call(side, "dot")]
        return dots[0] if len(dots) == 1 else None
    return None


def without_cast(_code: Code, node: ast.expr) -> ast.expr | None:
    """Take what is cast to f32."""
    if isinstance(node, ast.Call) and is_call(node, "to") and isinstance(node.func, ast.Attribute):
        wide = any("float32" in ast.unparse(argument) for argument in node.args)
        return node.func.value if wide else None
    return None


def tf32(_code: Code, node: ast.expr) -> str | None:
    """Let a dot round its operands to tf32."""
    if not isinstance(node, ast.Call) or not is_call(node, "dot"):
        return None
    kept = [ast.unparse(k) for k in node.keywords if k.arg not in {"input_precision", "allow_tf32"}]
    words = [*map(ast.unparse, node.args), *kept, 'input_precision="tf32"']
    return f"{ast.unparse(node.func)}({', '.join(words)})"


def scalar_as_f32(code: Code, node: ast.expr) -> str | None:
    """Cast a value that is no tile, such as a loaded scalar, to f32."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in code.constants:
        values = code.assigned(node.id)
        loaded = any(is_call(n, "load") for value in values for n in ast.walk(value))
        return f"{node.id}.to(tl.float32)" if loaded and not code.is_tensor(node) else None
    return None


def hoisted(symptom: str) -> Counterfactual:
    """Offer to move the statement on the line in front of its loop."""

    def change(subject: Subject, structure: Structure) -> Variant | None:
        code = code_at(subject, structure)
        here, around = (code.here(), code.around(ast.For)) if code is not None else ([], [])
        if code is None or not here or not around or here[0].lineno != here[0].end_lineno:
            return None
        return variant(symptom, structure, code.hoist(here[0], around[-1]))

    return change


def with_loop_stages(symptom: str, stages: int) -> Counterfactual:
    """Offer stages of its own to the loop around the line."""

    def change(subject: Subject, structure: Structure) -> Variant | None:
        code = code_at(subject, structure)
        loops = code.around(ast.For) if code is not None else []
        if code is None or not loops:
            return None
        loop = loops[-1]
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not is_call(loop.iter, "range"):
            return None
        kept = [ast.unparse(k) for k in loop.iter.keywords if k.arg != "num_stages"]
        words = [*map(ast.unparse, loop.iter.args), *kept]
        header = f"for {ast.unparse(loop.target)} in tl.range({', '.join(words)}, num_stages={stages}):"
        return variant(symptom, structure, code.replace_header(loop, header))

    return change


def none(_subject: Subject, _structure: Structure) -> Variant | None:
    """Offer nothing: no small edit removes the structure."""
    return None

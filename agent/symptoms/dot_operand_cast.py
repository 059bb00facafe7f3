"""A dot operand computed on the vector core inside the loop reaches the cube through global memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.cube import ROUND_TRIP_PASS, Product
from agent.symptoms.dot_swapped_ptr import crossing_structures
from agent.symptoms.edits import Code, edit_line, is_call, names_in
from indexer.ir.records import IrOp


def _cast(product: Product, made: IrOp) -> IrOp | None:
    inside = product.loop is not None and any(p is product.loop for p in product.flow.parents(made))
    return made if inside and made.name == "hivm.hir.vcast" else None


def _detect(subject: Subject) -> list[Structure]:
    return crossing_structures("dot_operand_cast", subject, _cast)


_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "int8": "i8"}


def _uncast(_code: Code, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and is_call(node, "to") and isinstance(node.func, ast.Attribute):
        return node.func.value
    return None


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Hand the operand over in the type it is cast to, where the file states the types; else leave the cast out.

    Without the cast it stays open where the other operand has another type.
    """
    if structure.line is not None:
        code = Code(subject.source, structure.line, subject.launch)
        edit = code.replace(list(_handed_over(code)))
        if edit is not None:
            return edit.variant("dot_operand_cast", structure.line)
    return edit_line("dot_operand_cast", subject, structure, _uncast)


def _handed_over(code: Code) -> Iterator[tuple[ast.expr, str]]:
    """Yield the stated types of the tensors that the line casts, and those they are cast to."""
    casts = [n for s in code.here() for n in ast.walk(s) if isinstance(n, ast.Call) and is_call(n, "to") and n.args]
    for cast in casts:
        dtype = _SHORT.get(cast.args[0].attr) if isinstance(cast.args[0], ast.Attribute) else None
        read = {name for expr in code.feeding([cast]) for name in names_in(expr)} & code.pointers
        for stated in ast.walk(ast.parse(code.source)):
            for key, value in zip(stated.keys, stated.values, strict=True) if isinstance(stated, ast.Dict) else ():
                named = isinstance(key, ast.Constant) and key.value in read
                if dtype is not None and named and isinstance(value, ast.Constant) and value.value != f"*{dtype}":
                    yield value, f'"*{dtype}"'


DOT_OPERAND_CAST = Symptom(
    id="dot_operand_cast",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(ROUND_TRIP_PASS, "insert-workspace-for-mix-cv", "hivm-cross-core-gss"),
    ops=("hivm.hir.vcast", "hivm.hir.store", "hivm.hir.load"),
    query="insert load store for mix cube vector operand produced by vcast workspace vector to cube no on-chip path",
    detect=_detect,
    counterfactual=_counterfactual,
    limiters=frozenset({"load", "store", "vector", "sync"}),
)

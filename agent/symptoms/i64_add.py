"""Element-wise arithmetic on 64-bit integers runs one element at a time."""

from __future__ import annotations

import ast

from agent.records import Structure
from agent.symptoms.base import Subject, Symptom, Variant
from agent.symptoms.edits import Code, cast, edit_line, is_call, names_in
from agent.symptoms.scalarised import LOWER_TO_LOOPS, is_vector_op, scalar_structures, types_of
from indexer.ir.records import IrOp

# Those that the default rule sends to loops for a 64-bit element (AscendNPU-IR@8796a8ac1508:
# bishengir/lib/Dialect/HIVM/IR/ImplByScalarOpInterface/ShouldLowerToScalarLoops.cpp:80-114), element-wise ones only.
_OPS = ("vadd", "vsub", "vmul", "vmin", "vmax", "vabs", "vdiv", "vshl", "vshr")


def _belongs(op: IrOp) -> bool:
    return is_vector_op(op, *_OPS) and bool(types_of(op)) and types_of(op)[0].element == "i64"


def _detect(subject: Subject) -> list[Structure]:
    return scalar_structures("i64_add", subject, _belongs)


def _narrow(code: Code, node: ast.expr) -> str | None:
    if isinstance(node, ast.BinOp) and not code.is_constant(node) and not names_in(node) & code.pointers:
        return _side(code, node)
    if isinstance(node, ast.Call) and is_call(node, "abs", "maximum", "minimum"):
        return f"{ast.unparse(node.func)}({', '.join(_side(code, a) for a in node.args)})"
    return None


def _side(code: Code, expr: ast.expr) -> str:
    """Cast what an expression is made of, not its result: each operation in it must become one of 32 bits."""
    if code.is_constant(expr):
        return ast.unparse(expr)
    if isinstance(expr, ast.BinOp):
        symbol = ast.unparse(ast.BinOp(ast.Name("l"), expr.op, ast.Name("r")))[1:-1]
        return f"({_side(code, expr.left)}{symbol}{_side(code, expr.right)})"
    return cast(_all_narrow(expr), "int32")


def _counterfactual(subject: Subject, structure: Structure) -> Variant | None:
    """Compute in 32 bits: cast both operands of the line's arithmetic; casts to int64 in it become casts to int32."""
    return edit_line("i64_add", subject, structure, _narrow)


class _Narrow(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        return ast.Attribute(node.value, "int32", node.ctx) if node.attr == "int64" else node


def _all_narrow(expr: ast.expr) -> ast.expr:
    new = _Narrow().visit(ast.parse(ast.unparse(expr), mode="eval").body)
    assert isinstance(new, ast.expr)  # noqa: S101 - the transformer keeps expressions
    return new


I64_ADD = Symptom(
    id="i64_add",
    archs=frozenset({"a3"}),
    rung="ir",
    passes=(LOWER_TO_LOOPS,),
    ops=tuple(f"hivm.hir.{name}" for name in _OPS),
    query="shouldLowerToScalarLoops default 64-bit integer element type vadd vmul vsub lower to scalar loops",
    detect=_detect,
    counterfactual=_counterfactual,
    is_limit=True,
    limiters=frozenset({"scalar"}),
)

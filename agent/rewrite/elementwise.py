"""Kernels that treat every lane alike: no reduction, no product, no second axis."""

from __future__ import annotations

import libcst as cst

from agent.rewrite.algebra import Poly
from agent.rewrite.evaluate import evaluate
from agent.rewrite.flow import KernelBody
from agent.rewrite.looping import language_call
from agent.rewrite.source import argument, dotted, walk
from agent.rewrite.values import Number

_CALLS = frozenset(
    {
        "abs", "arange", "cast", "ceil", "clamp", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "full",
        "load", "log", "log2", "maximum", "minimum", "num_programs", "program_id", "rsqrt", "sigmoid", "sin", "sqrt",
        "sqrt_rn", "static_assert", "static_print", "store", "umulhi", "where", "zeros",
    }
)  # fmt: skip
_PLAIN = frozenset({"float", "int", "range"})


def block_size(body: KernelBody) -> Poly | None:
    """Return the size of the one axis that all tiles of the kernel have; None where it is not element-wise."""
    sizes: set[Poly] = set()
    scopes = {id(node): point.scope for point in body.points for node in walk(point.statement)}
    for node in walk(body.file.kernel.body):
        if isinstance(node, cst.Subscript):
            return None
        if not isinstance(node, cst.Call):
            continue
        name = language_call(node, body.file)
        casts = isinstance(node.func, cst.Attribute) and node.func.attr.value == "to"
        if name not in _CALLS and dotted(node.func) not in _PLAIN and not casts:
            return None
        if name == "arange":
            tile = evaluate(node, scopes[id(node)])
            if not isinstance(tile, Number) or not _starts_at_zero(node):
                return None
            sizes.add(tile.shape[0])
    return sizes.pop() if len(sizes) == 1 else None


def _starts_at_zero(node: cst.Call) -> bool:
    start = argument(node, "start", 0)
    return start is not None and isinstance(start.value, cst.Integer) and int(start.value.value) == 0

"""Axes of a kernel's tiles along which every lane is computed by itself: nothing sums, scans or moves along them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agent.rewrite.algebra import Poly
from agent.rewrite.evaluate import REDUCTIONS, Scope, evaluate, new_axes, reduced_axis
from agent.rewrite.flow import KernelBody
from agent.rewrite.looping import language_call
from agent.rewrite.source import argument, dotted, walk
from agent.rewrite.values import Number, Pointer

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
    if any(isinstance(node, cst.Subscript) for node in walk(body.file.kernel.body)):
        return None
    sizes = _range_sizes(body)
    found = independent_sizes(body)
    return found[0] if len(sizes) == 1 and found else None


def independent_sizes(body: KernelBody) -> list[Poly]:
    """Return the sizes of the axes that can be worked through in parts, those of outer axes first."""
    found = [size for size in _range_sizes(body) if _is_independent(size, body)]
    axes = {
        size: min((lane.axis for p in _addresses(body) for lane in p.poly.lanes if lane.size == size), default=0)
        for size in found
    }
    return sorted(found, key=lambda size: axes[size])


def _scopes(body: KernelBody) -> dict[int, Scope]:
    return {id(node): point.scope for point in body.points for node in walk(point.statement)}


def _range_sizes(body: KernelBody) -> list[Poly]:
    """Return the distinct sizes of `tl.arange`; none where one of them is not understood."""
    scopes = _scopes(body)
    sizes: dict[Poly, None] = {}
    for node in walk(body.file.kernel.body):
        if isinstance(node, cst.Call) and language_call(node, body.file) == "arange":
            tile = evaluate(node, scopes[id(node)])
            if not isinstance(tile, Number) or not _starts_at_zero(node):
                return []
            sizes[tile.shape[0]] = None
    return list(sizes)


def _is_independent(size: Poly, body: KernelBody) -> bool:
    scopes = _scopes(body)
    for node in walk(body.file.kernel.body):
        if isinstance(node, cst.Subscript) and new_axes(node) is None and not _is_annotation(node):
            return False
        if isinstance(node, cst.Call) and not _is_harmless(node, size, scopes[id(node)]):
            return False
        if isinstance(node, cst.BaseExpression) and id(node) in scopes and _has_twice(node, size, scopes[id(node)]):
            return False
    return True


def _is_annotation(node: cst.Subscript) -> bool:
    return dotted(node.value).endswith("constexpr")


def _is_harmless(call: cst.Call, size: Poly, scope: Scope) -> bool:
    name = scope.function(call.func)
    if name in REDUCTIONS:
        axis = reduced_axis(call, scope)
        return axis is not None and axis != size and axis.known is not None
    casts = isinstance(call.func, cst.Attribute) and call.func.attr.value == "to"
    return name in _CALLS or dotted(call.func) in _PLAIN or casts


def _has_twice(node: cst.BaseExpression, size: Poly, scope: Scope) -> bool:
    """Tell whether a tile has this size along two axes: its parts would not be told apart."""
    if not isinstance(node, (cst.BinaryOperation, cst.Call, cst.Subscript)):
        return False
    shape = evaluate(node, scope).shape
    return shape is not None and shape.count(size) > 1


def _addresses(body: KernelBody) -> Iterator[Pointer]:
    for point in body.points:
        if isinstance(point.statement, cst.BaseSmallStatement):
            for node in walk(point.statement):
                if isinstance(node, cst.Call) and language_call(node, body.file) in {"load", "store"}:
                    given = argument(node, "pointer", 0)
                    found = evaluate(given.value, point.scope) if given is not None else None
                    if isinstance(found, Pointer):
                        yield found


def _starts_at_zero(node: cst.Call) -> bool:
    start = argument(node, "start", 0)
    return start is not None and isinstance(start.value, cst.Integer) and int(start.value.value) == 0

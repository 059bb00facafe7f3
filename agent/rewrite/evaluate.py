"""Evaluate expressions of a kernel symbolically, in the scope of one statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from agent.rewrite.algebra import Lane, Names, Poly, Symbol, number, single
from agent.rewrite.source import KernelFile, argument, dotted, names_in
from agent.rewrite.values import Comparison, Mask, Number, Opaque, Pointer, Shape, Value, broadcast, scalar

# An expression that must not be written a second time, such as a load: memory may have changed in between.
UNREPEATABLE: Names = (("", 0),)
ONE = number(1)

_COMPARISONS: dict[type[cst.CSTNode], str] = {
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Equal: "==",
    cst.NotEqual: "!=",
}
_INTEGER_ONLY = (cst.FloorDivide, cst.Modulo, cst.BitAnd, cst.BitOr, cst.BitXor, cst.LeftShift, cst.RightShift)
_INTEGER_CALLS = frozenset({"cdiv", "minimum", "maximum", "num_programs", "program_id"})
REDUCTIONS = frozenset({"sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce"})
# Functions whose result has the wider type of their operands; that of the others is the first one's.
_JOINING = frozenset({"clamp", "fdiv", "fma", "maximum", "minimum", "where"})
_ELEMENTWISE = frozenset(
    {
        "abs", "cast", "ceil", "clamp", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2",
        "maximum", "minimum", "rsqrt", "sigmoid", "sin", "sqrt", "sqrt_rn", "umulhi", "where",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Variable:
    """A local name's value, and how many assignments came before the one that made it."""

    value: Value
    version: int


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables before one statement of a kernel."""

    file: KernelFile
    variables: Mapping[str, Variable]

    def names(self, node: cst.CSTNode) -> Names:
        """Return the variables that `node` reads, with the versions that they have here."""
        return tuple((n, self.variables[n].version) for n in names_in(node) if n in self.variables)

    def holds(self, names: Names) -> bool:
        """Tell whether the variables `names` still have these versions here."""
        return all(name in self.variables and self.variables[name].version == version for name, version in names)

    def function(self, node: cst.CSTNode) -> str:
        """Return the name of a function of `triton.language` without its module, "" for others."""
        owner, _, name = dotted(node).rpartition(".")
        return name if owner == self.file.language else ""


def evaluate(node: cst.CSTNode, scope: Scope) -> Value:
    """Tell what `node` is in `scope`."""
    match node:
        case cst.Integer():
            return Number(number(int(node.value.replace("_", ""), 0)), 0)
        case cst.Float():
            return _opaque(node, scope, "float", ())
        case cst.Name():
            found = scope.variables.get(node.value)
            return found.value if found is not None else _opaque(node, scope)
        case cst.UnaryOperation():
            return _unary(node, scope)
        case cst.BinaryOperation():
            return _binary(node, scope)
        case cst.Comparison():
            return _comparison(node, scope)
        case cst.Subscript():
            return _subscript(node, scope)
        case cst.Call():
            return _call(node, scope)
        case _:
            return _opaque(node, scope)


def is_elementwise(node: cst.CSTNode, scope: Scope) -> bool:
    """Tell whether each lane of the result depends on the same lane of the operands only."""
    match node:
        case cst.BinaryOperation() | cst.UnaryOperation() | cst.Comparison() | cst.ComparisonTarget():
            return True
        case cst.Attribute(attr=cst.Name(value="to")):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="to"))):
            return True
        case cst.Call():
            return scope.function(node.func) in _ELEMENTWISE
        case _:
            return False


def _opaque(node: cst.CSTNode, scope: Scope, dtype: str | None = None, shape: Shape | None = None) -> Opaque:
    return Opaque(scope.file.text(node), scope.names(node), dtype, shape)


def _unary(node: cst.UnaryOperation, scope: Scope) -> Value:
    inner = evaluate(node.expression, scope)
    if isinstance(node.operator, cst.Minus) and isinstance(inner, Number):
        return replace(inner, poly=-inner.poly)
    return _opaque(node, scope, getattr(inner, "dtype", None), inner.shape)


def _binary(node: cst.BinaryOperation, scope: Scope) -> Value:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    shape = broadcast(left.shape, right.shape)
    if shape is None:
        return _opaque(node, scope)
    if isinstance(node.operator, cst.BitAnd) and isinstance(left, Mask) and isinstance(right, Mask):
        return Mask((*left.parts, *right.parts), shape)
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        return _pointer_sum(node, left, right, scope)
    if isinstance(left, Number) and isinstance(right, Number):
        return _arithmetic(node, left, right, scope, shape)
    return _opaque(node, scope, _joined_dtype(left, right), shape)


def _pointer_sum(node: cst.BinaryOperation, left: Value, right: Value, scope: Scope) -> Value:
    if isinstance(right, Pointer) and isinstance(node.operator, cst.Add):
        left, right = right, left
    sign = {cst.Add: ONE, cst.Subtract: -ONE}.get(type(node.operator))
    shape = broadcast(left.shape, right.shape)
    if not isinstance(left, Pointer) or not isinstance(right, Number) or sign is None or shape is None:
        return _opaque(node, scope, getattr(left, "dtype", None), shape)
    bits = max(left.bits, right.bits)
    return Pointer(left.base, left.dtype, left.poly + right.poly * sign, bits, shape)


def _arithmetic(node: cst.BinaryOperation, left: Number, right: Number, scope: Scope, shape: Shape) -> Value:
    bits = max(left.bits, right.bits)
    match node.operator:
        case cst.Add():
            return Number(left.poly + right.poly, bits, shape)
        case cst.Subtract():
            return Number(left.poly - right.poly, bits, shape)
        case cst.Multiply():
            return Number(left.poly * right.poly, bits, shape)
    if isinstance(node.operator, _INTEGER_ONLY) and not shape:
        return scalar(Symbol(_grouped(node, scope), scope.names(node), bits, _folded(node.operator, left, right)))
    return _opaque(node, scope, "i64" if bits == 64 else "i32", shape)


def _folded(operator: cst.BaseBinaryOp, left: Number, right: Number) -> int | None:
    a, b = left.poly.known, right.poly.known
    if a is None or b is None or b == 0 or a < 0 or b < 0:
        return None
    if isinstance(operator, cst.FloorDivide):
        return a // b
    return a % b if isinstance(operator, cst.Modulo) else None


def _grouped(node: cst.CSTNode, scope: Scope) -> str:
    return f"({scope.file.text(node)})"


def _joined_dtype(left: Value, right: Value) -> str | None:
    """Return the type of an operation of two values: a float one's, else of integers the wider one's."""
    kinds = [kind for kind in (_dtype(left), _dtype(right)) if kind is not None]
    floats = [kind for kind in kinds if kind.startswith(("fp", "bf", "float"))]
    if floats or len(kinds) < 2:
        return floats[0] if floats else None
    return max(kinds, key=_width)


def _dtype(value: Value) -> str | None:
    if isinstance(value, Number):
        return f"i{value.bits}"
    if isinstance(value, Mask):
        return "i1"
    return getattr(value, "dtype", None)


def _width(kind: str) -> int:
    return int(kind[1:]) if kind[1:].isdigit() else 0


def _comparison(node: cst.Comparison, scope: Scope) -> Value:
    if len(node.comparisons) != 1:
        return _opaque(node, scope, "i1")
    target = node.comparisons[0]
    left, right = evaluate(node.left, scope), evaluate(target.comparator, scope)
    shape = broadcast(left.shape, right.shape)
    operator = _COMPARISONS.get(type(target.operator))
    if shape is None or operator is None:
        return _opaque(node, scope, "i1")
    if isinstance(left, Number) and isinstance(right, Number):
        return Mask((Comparison(left, operator, right, shape),), shape)
    return Mask((Opaque(_grouped(node, scope), scope.names(node), "i1", shape),), shape)


def _subscript(node: cst.Subscript, scope: Scope) -> Value:
    inner = evaluate(node.value, scope)
    moves = new_axes(node)
    if moves is None or inner.shape is None or sum(moves) != len(inner.shape):
        return _opaque(node, scope, getattr(inner, "dtype", None))
    return _with_axes(inner, moves)


def _with_axes(inner: Value, moves: list[bool]) -> Value:
    """Give a tile new axes of size 1: `moves` says which of the axes are the old ones."""
    old = [position for position, kept in enumerate(moves) if kept]

    def moved(axis: int) -> int:
        return old[axis] - len(moves)

    sizes = iter(inner.shape or ())
    shape = tuple(next(sizes) if kept else ONE for kept in moves)
    return _reshaped(inner, moved, shape)


def new_axes(node: cst.Subscript) -> list[bool] | None:
    """Return for `[:, None]` which axes are old ones; None for any other subscript."""
    kept: list[bool] = []
    for element in node.slice:
        match element.slice:
            case cst.Slice(lower=None, upper=None, step=None):
                kept.append(True)
            case cst.Index(value=cst.Name(value="None")):
                kept.append(False)
            case _:
                return None
    return kept


def _reshaped(value: Value, moved: Callable[[int], int], shape: Shape) -> Value:
    match value:
        case Number() | Pointer():
            return replace(value, poly=value.poly.move_axes(moved), shape=shape)
        case Mask():
            parts = tuple(_reshaped_part(part, moved, shape) for part in value.parts)
            return Mask(parts, shape)
        case Opaque():
            return Opaque(value.text, UNREPEATABLE, value.dtype, shape)


def _reshaped_part(part: Comparison | Opaque, moved: Callable[[int], int], shape: Shape) -> Comparison | Opaque:
    if isinstance(part, Opaque):
        return Opaque(part.text, UNREPEATABLE, part.dtype, shape)
    left = replace(part.left, poly=part.left.poly.move_axes(moved))
    right = replace(part.right, poly=part.right.poly.move_axes(moved))
    return Comparison(left, part.operator, right, shape)


def _call(given: cst.Call, scope: Scope) -> Value:
    node = cst.ensure_type(scope.file.plain(given), cst.Call)
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "to" and node.args:
        return _cast(node, node.func.value, node.args[0].value, scope)
    if dotted(node.func) in {"float", "int"}:
        return _opaque(node, scope, dotted(node.func), ())
    name = scope.function(node.func)
    match name:
        case "arange":
            return _arange(node, scope)
        case "cast" if len(node.args) > 1:
            return _cast(node, node.args[0].value, node.args[1].value, scope)
        case "load":
            return _load(node, scope)
        case "zeros" | "full" | "zeros_like" | "full_like":
            return _opaque(node, scope, _filled_dtype(node, scope), _filled_shape(node, scope))
        case "multiple_of" | "max_contiguous" if node.args:
            return evaluate(node.args[0].value, scope)
        case "expand_dims" | "broadcast_to" | "reshape" | "view" | "trans" | "permute" if node.args:
            return _reshape_call(name, node, scope)
        case _ if name in REDUCTIONS:
            return _opaque(node, scope, _reduced_dtype(name, node, scope), _reduced_shape(node, scope))
    return _other_call(name, node, scope)


def _reshape_call(name: str, node: cst.Call, scope: Scope) -> Value:
    """Tell what a call is that only lays its first argument out anew."""
    inner = evaluate(node.args[0].value, scope)
    dtype, rest = _dtype(inner), [given.value for given in node.args[1:]]
    if inner.shape is None:
        return _opaque(node, scope, dtype)
    match name, rest:
        case "expand_dims", [axis]:
            at = _literal(axis, scope)
            if at is None or not -len(inner.shape) - 1 <= at <= len(inner.shape):
                return _opaque(node, scope, dtype)
            at %= len(inner.shape) + 1
            return _with_axes(inner, [i != at for i in range(len(inner.shape) + 1)])
        case "trans", [] if len(inner.shape) == 2:
            return _opaque(node, scope, dtype, inner.shape[::-1])
        case "trans" | "permute", _:
            order = [_literal(axis, scope) for axis in listed(rest)]
            known = [axis for axis in order if axis is not None and -len(inner.shape) <= axis < len(inner.shape)]
            shape = tuple(inner.shape[axis] for axis in known) if len(known) == len(inner.shape) else None
            return _opaque(node, scope, dtype, shape)
        case _:
            return _opaque(node, scope, dtype, _sizes(listed(rest), scope))


def listed(given: Sequence[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """Return the entries of a shape or an order, which may stand in a tuple or as arguments of their own."""
    match given:
        case [cst.Tuple() | cst.List() as only]:
            return [element.value for element in only.elements]
        case _:
            return list(given)


def _literal(node: cst.CSTNode, scope: Scope) -> int | None:
    found = evaluate(node, scope)
    return found.poly.literal if isinstance(found, Number) else None


def _sizes(nodes: Sequence[cst.BaseExpression], scope: Scope) -> Shape | None:
    sizes = [evaluate(node, scope) for node in nodes]
    found = [size.poly for size in sizes if isinstance(size, Number)]
    return tuple(found) if len(found) == len(sizes) and found else None


def _filled_dtype(node: cst.Call, scope: Scope) -> str | None:
    """Return the type of a filled tile, where it is named."""
    name = scope.function(node.func)
    given = argument(node, "dtype", 1 if name == "zeros" else 2)
    if given is None:
        like = argument(node, "input", 0)
        return _dtype(evaluate(like.value, scope)) if like is not None and name == "zeros_like" else None
    named = scope.function(given.value)
    if named.startswith("int"):
        return f"i{named[3:]}"
    return named or None


def _other_call(name: str, node: cst.Call, scope: Scope) -> Value:
    values = [evaluate(given.value, scope) for given in node.args if not given.star]
    numbers = [value for value in values if isinstance(value, Number) and not value.shape]
    if name in _INTEGER_CALLS and len(numbers) == len(node.args):
        bits = max((value.bits for value in numbers), default=32)
        return scalar(Symbol(scope.file.text(node), scope.names(node), bits))
    if name not in _ELEMENTWISE:
        return _opaque(node, scope)
    shape: Shape | None = ()
    for value in values:
        shape = broadcast(shape, value.shape)
    return _opaque(node, scope, _result_dtype(name, values), shape)


def _result_dtype(name: str, values: Sequence[Value]) -> str | None:
    """Return the type of an element-wise function's result, where its operands tell it."""
    operands = values[1:] if name == "where" else values
    kind = _dtype(operands[0]) if operands else None
    for value in operands[1:] if name in _JOINING else ():
        kind = _joined_dtype(Opaque("", (), kind), value)
    return kind


def _cast(node: cst.CSTNode, inner_node: cst.CSTNode, target: cst.CSTNode, scope: Scope) -> Value:
    inner = evaluate(inner_node, scope)
    match scope.function(target), inner:
        case "int64", Number():
            return replace(inner, bits=64)
        case "int32", Number(bits=0 | 32):
            return replace(inner, bits=32)
        case "int32", Number(shape=()):
            return scalar(Symbol(scope.file.text(node), scope.names(node), 32))
        case ("float32" | "float16" | "bfloat16" | "float64") as name, _:
            return _opaque(node, scope, name, inner.shape)
        case ("int8" | "int16" | "int32" | "int64") as name, _:
            return _opaque(node, scope, f"i{name[3:]}", inner.shape)
        case _:
            return _opaque(node, scope, shape=inner.shape)


def _arange(node: cst.Call, scope: Scope) -> Value:
    first, last = argument(node, "start", 0), argument(node, "end", 1)
    if first is None or last is None:
        return _opaque(node, scope)
    start, end = evaluate(first.value, scope), evaluate(last.value, scope)
    if not isinstance(start, Number) or not isinstance(end, Number):
        return _opaque(node, scope)
    size = end.poly - start.poly
    return Number(single(Lane(size)) + start.poly, 32, (size,))


def _load(node: cst.Call, scope: Scope) -> Value:
    first = argument(node, "pointer", 0)
    source = evaluate(first.value, scope) if first is not None else None
    if not isinstance(source, Pointer):
        return _opaque(node, scope, shape=source.shape if source is not None else None)
    if source.dtype in {"i32", "i64"} and not source.shape:
        return scalar(Symbol(scope.file.text(node), UNREPEATABLE, int(source.dtype[1:])))
    return Opaque(scope.file.text(node), UNREPEATABLE, source.dtype, source.shape)


def _filled_shape(node: cst.Call, scope: Scope) -> Shape | None:
    given = argument(node, "shape", 0)
    if given is None:
        return None
    if scope.function(node.func).endswith("_like"):
        return evaluate(given.value, scope).shape
    return _sizes(listed([given.value]), scope)


def _reduced_shape(node: cst.Call, scope: Scope) -> Shape | None:
    given = argument(node, "input", 0)
    shape = evaluate(given.value, scope).shape if given is not None else None
    index = reduced_index(node, scope)
    if shape is None or argument(node, "keep_dims", 2) is not None:
        return None
    if index is None or not -len(shape) <= index < len(shape):
        return () if argument(node, "axis", 1) is None else None
    kept = list(shape)
    del kept[index]
    return tuple(kept)


def _reduced_dtype(name: str, node: cst.Call, scope: Scope) -> str | None:
    given = argument(node, "input", 0)
    kind = _dtype(evaluate(given.value, scope)) if given is not None else None
    if name in {"argmax", "argmin"}:
        return "i32"
    return "i32" if name == "sum" and kind is not None and kind.startswith("i") and _width(kind) < 32 else kind


def reduced_axis(node: cst.Call, scope: Scope) -> Poly | None:
    """Return the size of the axis that a reduction runs along; None where it is not known, or all are."""
    given = argument(node, "input", 0)
    shape = evaluate(given.value, scope).shape if given is not None else None
    index = reduced_index(node, scope)
    return shape[index] if shape is not None and index is not None and -len(shape) <= index < len(shape) else None


def reduced_index(node: cst.Call, scope: Scope) -> int | None:
    """Return the literal axis that a reduction runs along; None where none is given, or it is not one."""
    axis = argument(node, "axis", 1)
    along = evaluate(axis.value, scope) if axis is not None else None
    return along.poly.literal if isinstance(along, Number) else None

"""How each value of a kernel depends on the place of its program on one axis of the grid."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NoReturn

from agent.configurations.places import program_axis

ELEMENTWISE = frozenset({
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "floor", "ceil", "sigmoid", "erf", "cos", "sin",
    "where", "maximum", "minimum", "fma", "cast", "fdiv", "div_rn", "sqrt_rn", "clamp",
})  # fmt: skip
REDUCTIONS = frozenset({"sum", "max", "min", "argmax", "argmin", "xor_sum"})
SCANS = frozenset({"cumsum", "cumprod", "associative_scan"})
_MAKERS = frozenset({"zeros", "full"})


class Unknown(Exception):
    """The kernel does something that this rewriting does not follow."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How a value depends on the place: whether it does, and its rank without the new dimension."""

    batched: bool
    rank: int


# What a loop carries may turn out to depend on the place only in a later round.
_ROUNDS = 8
SCALAR = Kind(batched=False, rank=0)


class Kinds:
    """The kinds of a kernel's variables: whether they depend on the place on `axis`, and their rank."""

    def __init__(self, axis: int, language: str) -> None:
        self.axis, self.language = axis, language
        self.of: dict[str, Kind] = {}

    def settle(self, body: list[ast.stmt]) -> None:
        """Learn the kinds of all variables; raises `Unknown` for a statement that is not followed."""
        for _ in range(_ROUNDS):
            before = dict(self.of)
            self._learn(body)
            if self.of == before:
                return
        raise Unknown

    def _learn(self, body: list[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._join(name, self.kind(value))
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(
                    values
                ):
                    for name_node, value in zip(names, values, strict=True):
                        self._join(name_of(name_node), self.kind(value))
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    self._join(name, joined(self.of.get(name, SCALAR), self.kind(value)))
                case ast.For(target=ast.Name(id=name), body=inner, orelse=[]):
                    if any(self.kind(bound).batched for bound in _range_args(statement.iter)):
                        raise Unknown
                    self._join(name, SCALAR)
                    self._learn(inner)
                case ast.Expr(value=ast.Call() | ast.Constant()):
                    pass
                case _:
                    raise Unknown

    def _join(self, name: str, kind: Kind) -> None:
        known = self.of.get(name)
        if known is not None and known.rank != kind.rank:
            raise Unknown
        self.of[name] = kind if known is None else Kind(kind.batched or known.batched, kind.rank)

    def kind(self, node: ast.expr) -> Kind:
        """Return how the value of an expression depends on the place."""
        if program_axis(node, {}) is not None:
            return Kind(program_axis(node, {}) == self.axis, 0)
        match node:
            case ast.Name(id=name):
                return self.of.get(name, SCALAR)
            case ast.Constant():
                return SCALAR
            case ast.BinOp(left=left, right=right):
                return joined(self.kind(left), self.kind(right))
            case ast.Compare(left=left, comparators=[right]):
                return joined(self.kind(left), self.kind(right))
            case ast.UnaryOp(operand=operand):
                return self.kind(operand)
            case ast.Subscript(value=value, slice=ast.Tuple(elts=parts)):
                return self._indexed(value, parts)
            case ast.Attribute(value=ast.Name(id="tl")):
                return SCALAR
            case ast.Call():
                return self._called(node)
            case _:
                raise Unknown

    def _indexed(self, value: ast.expr, parts: list[ast.expr]) -> Kind:
        inner = self.kind(value)
        new = sum(isinstance(part, ast.Constant) and part.value is None for part in parts)
        if len(parts) - new != inner.rank:
            raise Unknown
        return Kind(inner.batched, len(parts))

    def _called(self, node: ast.Call) -> Kind:
        match node.func:
            case ast.Name(id="float"):
                return SCALAR
            case ast.Attribute(value=ast.Name(id=language), attr=name) if language == self.language:
                return self._language_call(node, name)
            case ast.Attribute(value=value, attr="to"):
                return self.kind(value)
            case _:
                raise Unknown

    def _language_call(self, node: ast.Call, name: str) -> Kind:
        if name == "num_programs":
            return SCALAR
        if name == "arange":
            return Kind(batched=False, rank=1)
        if name in _MAKERS:
            shape = node.args[0]
            return Kind(batched=False, rank=len(shape.elts)) if isinstance(shape, ast.Tuple) else refuse()
        if name in REDUCTIONS | SCANS:
            return self._reduced(node, name, self.kind(node.args[0]))
        if name in ELEMENTWISE:
            return _all_joined([self.kind(arg) for arg in node.args if not is_type(arg)])
        if name == "load":
            masks = [self.kind(k.value) for k in node.keywords if k.arg == "mask"]
            return _all_joined([self.kind(node.args[0]), *masks])
        raise Unknown

    @staticmethod
    def _reduced(node: ast.Call, name: str, inner: Kind) -> Kind:
        if axis_argument(node) is None and inner.rank != 1:
            raise Unknown
        return Kind(inner.batched, inner.rank - (1 if name in REDUCTIONS else 0))


def joined(first: Kind, second: Kind) -> Kind:
    """Return the kind of what two values make together."""
    if first.rank != second.rank and 0 not in {first.rank, second.rank}:
        raise Unknown
    return Kind(first.batched or second.batched, max(first.rank, second.rank))


def _all_joined(kinds: list[Kind]) -> Kind:
    found = SCALAR
    for kind in kinds:
        found = joined(found, kind)
    return found


def _range_args(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            return args
        case ast.Call(func=ast.Attribute(attr="range"), args=args):
            return args
        case _:
            raise Unknown


def axis_argument(node: ast.Call) -> ast.expr | None:
    """Return what a reduction or a scan is given as its axis."""
    named = [k.value for k in node.keywords if k.arg == "axis"]
    return named[0] if named else node.args[1] if len(node.args) > 1 else None


def is_type(node: ast.expr) -> bool:
    """Tell whether an argument is an element type."""
    return isinstance(node, ast.Attribute)


def name_of(node: ast.expr) -> str:
    """Return the name that a target is."""
    return node.id if isinstance(node, ast.Name) else refuse()


def refuse() -> NoReturn:
    """Give up."""
    raise Unknown

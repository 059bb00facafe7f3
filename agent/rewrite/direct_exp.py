"""Write e**x as such: a power of two has no instruction here, so it is computed as e**(x*ln 2)."""

from __future__ import annotations

import math

import libcst as cst

from agent.records import Structure
from agent.rewrite.evaluate import Scope
from agent.rewrite.expressions import grouped, rephrase, resolved
from agent.rewrite.flow import assigned_in, targets
from agent.rewrite.source import dotted, names_in, walk
from agent.symptoms.base import Rewrite, Subject
from indexer.messages import message

LOG2_E = math.log2(math.e)
# A constant this near is meant to be it: float32 holds 1.4427 to 6e-8, and kernels write four digits or more.
_NEAR = 2e-5
_DEPTH = 6


def direct_exp(subject: Subject, structure: Structure) -> Rewrite | None:
    """Turn `tl.exp2(x * log2(e))` into `tl.exp(x)`; equal up to the rounding of the products."""
    return rephrase("direct_exp", subject, structure, _change, message("rewrite.direct_exp_precondition"))


def _change(node: cst.BaseExpression, scope: Scope) -> str | None:
    if not isinstance(node, cst.Call) or dotted(node.func).rpartition(".")[2] != "exp2" or not node.args:
        return None
    is_method = scope.file.plain(node) is not node
    power = cst.ensure_type(node.func, cst.Attribute).value if is_method else node.args[0].value
    found = _without_factor(power, scope, _DEPTH)
    return f"{scope.file.language}.exp({_bare(found)})" if found is not None else None


def _bare(text: str) -> str:
    """Drop the parentheses around a whole text that is a lone term or sum."""
    inner = text[1:-1]
    alone = text.startswith("(") and text.endswith(")") and "(" not in inner and ")" not in inner
    return inner if alone else text


def _without_factor(node: cst.BaseExpression, scope: Scope, depth: int) -> str | None:
    """Write `node` divided by log2(e), where a factor of it is that; None where none is."""
    if depth == 0:
        return None
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right):
            return _without_either(left, right, scope, depth)
        case cst.BinaryOperation(left=left, operator=cst.Divide(), right=right):
            if _is_near(right, 1 / LOG2_E, scope):
                return grouped(left, scope.file)
            rest = _without_factor(left, scope, depth - 1)
            return f"{rest} / {grouped(right, scope.file)}" if rest is not None else None
        case cst.BinaryOperation(left=left, operator=cst.Add() | cst.Subtract() as operator, right=right):
            parts = [_without_factor(side, scope, depth - 1) for side in (left, right)]
            sign = "+" if isinstance(operator, cst.Add) else "-"
            return None if None in parts else f"({parts[0]} {sign} {parts[1]})"
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            rest = _without_factor(inner, scope, depth - 1)
            return f"-{rest}" if rest is not None else None
        case cst.Name():
            value = resolved(node, scope)
            if value is node or not isinstance(value, cst.BaseExpression) or not _is_stable(value, scope):
                return None
            return _without_factor(value, scope, depth - 1)
        case _:
            return None


def _without_either(left: cst.BaseExpression, right: cst.BaseExpression, scope: Scope, depth: int) -> str | None:
    for side, other in ((left, right), (right, left)):
        if _is_near(side, LOG2_E, scope):
            return grouped(other, scope.file)
    for side, other in ((left, right), (right, left)):
        rest = _without_factor(side, scope, depth - 1)
        if rest is not None:
            return f"{rest} * {grouped(other, scope.file)}"
    return None


def _is_stable(value: cst.BaseExpression, scope: Scope) -> bool:
    """Tell whether `value` means the same wherever it stands: it calls nothing, and its variables are set once."""
    if any(isinstance(node, cst.Call) for node in walk(value)):
        return False
    kernel = scope.file.kernel
    changed = {name for name in names_in(value) if sum(name in targets(node) for node in walk(kernel.body)) > 1}
    parameters = {parameter.name.value for parameter in kernel.params.params}
    return not changed and not set(names_in(value)) & parameters & set(assigned_in(kernel.body))


def _is_near(node: cst.BaseExpression, wanted: float, scope: Scope) -> bool:
    value = _constant(node, scope, 3)
    return value is not None and abs(value / wanted - 1) < _NEAR


def _constant(node: cst.BaseExpression, scope: Scope, depth: int) -> float | None:
    """Return the number that a literal or a constant of the kernel or the module is."""
    match node:
        case cst.Float() | cst.Integer():
            return float(node.value.replace("_", "")) if isinstance(node, cst.Float) else None
        case cst.Call(func=func, args=[only]) if dotted(func).rpartition(".")[2] == "constexpr":
            return _constant(only.value, scope, depth)
        case cst.BinaryOperation(left=cst.Float() as one, operator=cst.Divide(), right=right) if depth:
            by = _constant(right, scope, depth - 1)
            return float(one.value) / by if by else None
        case cst.Name() if depth:
            value = resolved(node, scope)
            found = _of_module(node.value, scope) if value is node else value
            return _constant(found, scope, depth - 1) if isinstance(found, cst.BaseExpression) else None
        case _:
            return None


def _of_module(name: str, scope: Scope) -> cst.BaseExpression | None:
    """Return the value of the module's only assignment to `name`."""
    if name in scope.variables:
        return None
    lines = [line for line in scope.file.module.body if isinstance(line, cst.SimpleStatementLine)]
    made = [entry for line in lines for entry in line.body if name in targets(entry)]
    match made:
        case [cst.Assign(value=value)] | [cst.AnnAssign(value=cst.BaseExpression() as value)]:
            return value
        case _:
            return None

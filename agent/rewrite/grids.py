"""The number of programs of a grid that only the autotuner knows, in the kernel's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from agent.rewrite.launchsite import LaunchSite, grid_value
from agent.rewrite.source import Edit, KernelFile, argument, dotted

_OPERATORS: dict[type[cst.CSTNode], str] = {cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.FloorDivide: "//"}


@dataclass(frozen=True, slots=True)
class TunedGrid:
    """`total` says in the kernel how many programs `lambda meta: (n,)` asks for; `edit` launches fewer."""

    total: str
    edit: Edit


def limit_tuned_grid(site: LaunchSite, file: KernelFile, parameters: Sequence[str], cores: int) -> TunedGrid | None:
    """Limit a grid that is a function of the configuration; None where the kernel has not what it is made of."""
    grid = grid_value(site, file)
    if not isinstance(grid, cst.Lambda) or len(grid.params.params) != 1 or not isinstance(grid.body, cst.Tuple):
        return None
    if len(grid.body.elements) != 1:
        return None
    words = _Words(file, grid.params.params[0].name.value, _passed(site, file, parameters), frozenset(parameters))
    total = words.say(grid.body.elements[0].value)
    if total is None:
        return None
    if site.grid is grid:
        entry = grid.body.elements[0]
        return TunedGrid(total, file.replace(entry, f"min({file.text(entry)}, {cores})"))
    subscript = cst.ensure_type(site.call.func, cst.Subscript)
    start, end = file.span(subscript.slice[0])[0], file.span(subscript)[1] - 1
    meta = file.fresh("meta")
    return TunedGrid(total, Edit(start, end, f"lambda {meta}: (min({file.text(site.grid)}({meta})[0], {cores}),)"))


def _passed(site: LaunchSite, file: KernelFile, parameters: Sequence[str]) -> dict[str, str]:
    """Return for each argument text the parameter that it is passed for."""
    found: dict[str, str] = {}
    for position, name in enumerate(parameters):
        given = argument(site.call, name, position)
        if given is not None:
            found.setdefault(file.text(given.value), name)
    return found


@dataclass(frozen=True, slots=True)
class _Words:
    """Says host expressions with the kernel's parameters."""

    file: KernelFile
    meta: str
    passed: dict[str, str]
    parameters: frozenset[str]

    def say(self, node: cst.BaseExpression) -> str | None:
        """Write `node` for the kernel; None where it holds something that the kernel is not given."""
        if self.file.text(node) in self.passed:
            return self.passed[self.file.text(node)]
        match node:
            case cst.Integer():
                return node.value
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
                name = str(key.evaluated_value)
                return name if dotted(node.value) == self.meta and name in self.parameters else None
            case cst.BinaryOperation(left=left, operator=operator, right=right) if type(operator) in _OPERATORS:
                return self._join(left, right, f"({{}} {_OPERATORS[type(operator)]} {{}})")
            case cst.Call(func=func, args=[left, right]) if dotted(func) == "triton.cdiv":
                return self._join(left.value, right.value, f"{self.file.language}.cdiv({{}}, {{}})")
            case _:
                return None

    def _join(self, left: cst.BaseExpression, right: cst.BaseExpression, form: str) -> str | None:
        first, second = self.say(left), self.say(right)
        return form.format(first, second) if first is not None and second is not None else None

"""Where the host launches a kernel, and how that call is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from agent.rewrite.flow import targets
from agent.rewrite.source import Edit, KernelFile, argument, dotted, walk

# Calls that may be written twice: they have no effect and cost nothing.
_PURE_CALLS = frozenset({"cdiv", "len", "min", "max", "int", "numel", "size", "stride", "dim", "next_power_of_2"})


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """One call `kernel[grid](...)`; `function` is the host function around it (None: module level)."""

    call: cst.Call
    grid: cst.BaseExpression
    function: cst.FunctionDef | None


def find_launches(file: KernelFile) -> Iterator[LaunchSite]:
    """Yield every call that launches the kernel of `file` by name."""
    yield from _launches_in(file.module, file.kernel.name.value, None)


def all_launches_seen(file: KernelFile) -> bool:
    """Tell whether the kernel's name is used for nothing but these launches, so that no other call can exist."""
    name = file.kernel.name.value
    uses = sum(isinstance(node, cst.Name) and node.value == name for node in walk(file.module))
    return uses == 1 + sum(1 for _ in find_launches(file))


def read_total(site: LaunchSite, file: KernelFile) -> str | None:
    """Read the grid of `site` as one number of programs; None unless it is 1-D for certain."""
    grid = grid_value(site, file)
    if isinstance(grid, cst.Tuple) and len(grid.elements) == 1:
        entry = grid.elements[0].value
        if grid is not site.grid and isinstance(site.grid, cst.Name):
            return f"{site.grid.value}[0]"
        return file.text(entry) if _is_pure(entry) else None
    if isinstance(grid, cst.Lambda):
        return _read_lambda(grid, site, file)
    return None


def grid_value(site: LaunchSite, file: KernelFile) -> cst.BaseExpression | None:
    """Return the grid of `site`, through the variable that holds it; None where that may have another value."""
    if isinstance(site.grid, cst.Name):
        return _sole_assignment(site.grid.value, site, file)
    return site.grid


def limit_grid(site: LaunchSite, file: KernelFile, total: str, cores: int, parameter: str) -> list[Edit]:
    """Launch at most `cores` programs, and pass the kernel the former number as `parameter`."""
    subscript = cst.ensure_type(site.call.func, cst.Subscript)
    start, end = file.span(subscript.slice[0])[0], file.span(subscript)[1] - 1
    added = file.append_to_list(site.call.args[0], site.call.args[-1], f"{parameter}={total}")
    return [Edit(start, end, f"(min({total}, {cores}),)"), added]


def argument_of(site: LaunchSite, parameter: str, parameters: Sequence[str]) -> cst.BaseExpression | None:
    """Return what the launch passes for `parameter`; None where a star hides it."""
    position = parameters.index(parameter)
    given = argument(site.call, parameter, position)
    return given.value if given is not None else None


def is_repeatable(node: cst.CSTNode) -> bool:
    """Tell whether the host may evaluate `node` a second time: it is a name or an attribute of one."""
    return bool(dotted(node))


@dataclass(frozen=True, slots=True)
class ConstantHost:
    """A file that states its launch as `KERNEL`, `GRID` and `CONSTS` instead of a call by name."""

    grid: cst.Tuple
    constants: cst.Dict


def constant_host(file: KernelFile) -> ConstantHost | None:
    """Read the module-level `KERNEL`, `GRID` and `CONSTS`; None where the file has another form."""
    found: dict[str, cst.BaseExpression] = {}
    for line in file.module.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            match statement:
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                    found[name] = value
    kernel, grid, constants = found.get("KERNEL"), found.get("GRID"), found.get("CONSTS")
    is_ours = isinstance(kernel, cst.Name) and kernel.value == file.kernel.name.value
    if not is_ours or not isinstance(grid, cst.Tuple) or not isinstance(constants, cst.Dict):
        return None
    return ConstantHost(grid, constants)


def add_constants(host: ConstantHost, file: KernelFile, values: Mapping[str, int]) -> list[Edit]:
    """Add entries to `CONSTS`."""
    start, end = file.span(host.constants)
    entries = ", ".join(f'"{name}": {value}' for name, value in values.items())
    comma = ", " if host.constants.elements else ""
    return [Edit(end - 1, end - 1, f"{comma}{entries}")] if start < end else []


def _launches_in(node: cst.CSTNode, name: str, function: cst.FunctionDef | None) -> Iterator[LaunchSite]:
    match node:
        case cst.FunctionDef():
            function = node
        case cst.Call(func=cst.Subscript(value=cst.Name(value=called), slice=slices)) if called == name:
            grid = _grid(slices)
            if grid is not None and node.args:
                yield LaunchSite(node, grid, function)
    for child in node.children:
        yield from _launches_in(child, name, function)


def _grid(slices: Sequence[cst.SubscriptElement]) -> cst.BaseExpression | None:
    """Return the grid expression of `[grid]`; of `[n,]` the tuple that Python makes of it."""
    entries = [element.slice.value for element in slices if isinstance(element.slice, cst.Index)]
    if len(entries) != len(slices):
        return None
    if len(slices) == 1 and not isinstance(slices[0].comma, cst.Comma):
        return entries[0]
    return cst.Tuple([cst.Element(entry) for entry in entries])


def _sole_assignment(name: str, site: LaunchSite, file: KernelFile) -> cst.BaseExpression | None:
    """Return the value of the only assignment to `name` where the launch stands; None for any other case."""
    place: cst.CSTNode = site.function if site.function is not None else file.module
    found = [n for n in walk(place) if isinstance(n, (cst.Assign, cst.AugAssign, cst.For)) and name in targets(n)]
    if len(found) != 1 or not isinstance(found[0], cst.Assign) or len(found[0].targets) != 1:
        return None
    return found[0].value if isinstance(found[0].targets[0].target, cst.Name) else None


def _read_lambda(grid: cst.Lambda, site: LaunchSite, file: KernelFile) -> str | None:
    """Write the body of `lambda meta: (n,)` with the keywords of the call in the place of `meta[...]`."""
    body = grid.body
    if len(grid.params.params) != 1 or not isinstance(body, cst.Tuple) or len(body.elements) != 1:
        return None
    entry, meta = body.elements[0].value, grid.params.params[0].name.value
    start, _ = file.span(body.elements[0])
    text = file.text(body.elements[0])
    for node in reversed(list(walk(entry))):
        if isinstance(node, cst.Subscript) and dotted(node.value) == meta:
            given = _keyword(site.call, node)
            if given is None or not _is_pure(given):
                return None
            left, right = file.span(node)
            text = text[: left - start] + f"{_operand(given, file)}" + text[right - start :]
    return text.rstrip(", ") if _is_pure(entry) else None


def _keyword(call: cst.Call, node: cst.Subscript) -> cst.BaseExpression | None:
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]:
            given = argument(call, str(key.evaluated_value))
            return given.value if given is not None and given.keyword is not None else None
        case _:
            return None


def _operand(node: cst.BaseExpression, file: KernelFile) -> str:
    text = file.text(node)
    return text if isinstance(node, (cst.Name, cst.Integer, cst.Attribute, cst.Subscript, cst.Call)) else f"({text})"


def _is_pure(node: cst.CSTNode) -> bool:
    """Tell whether `node` can be written twice: names, numbers, arithmetic, subscripts and harmless calls."""
    for inner in walk(node):
        if isinstance(inner, cst.Call) and dotted(inner.func).rpartition(".")[2] not in _PURE_CALLS:
            return False
        if isinstance(inner, (cst.NamedExpr, cst.Await, cst.Yield, cst.Lambda, cst.ListComp, cst.StarredElement)):
            return False
    return True

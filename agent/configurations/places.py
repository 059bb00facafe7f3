"""Where a kernel file says its configuration: launches, the numbers they pass, the same numbers in their grids."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

# Launch options, which are no parameters of the kernel.
OPTIONS = ("num_warps", "num_stages")


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of the text, by line and byte column, that stands on one line."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Knob:
    """A constexpr whose number the file states: its value, and every place that has to change with it."""

    name: str
    value: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """The one launch of a file's one kernel, as nodes of its tree."""

    kernel: ast.FunctionDef
    call: ast.Call
    grid: ast.expr
    host: ast.FunctionDef | None


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel file whose configuration can be set."""

    text: str
    launch: Launch
    knobs: tuple[Knob, ...]
    options: Mapping[str, Place] = field(default_factory=dict)

    def configured(self, values: Mapping[str, int]) -> str:
        """Return the text with knobs and launch options set; a name that is neither is an error of the caller."""
        edits: list[tuple[Place, str]] = []
        added: list[str] = []
        for name, value in values.items():
            knob = next((k for k in self.knobs if k.name == name), None)
            if knob is not None:
                edits += [(place, str(value)) for place in knob.places]
            elif name in self.options:
                edits.append((self.options[name], str(value)))
            else:
                added.append(f"{name}={value}")
        if added:
            edits.append((_after_last_argument(self.launch.call), ", " + ", ".join(added)))
        return edited(self.text, edits)


def read_kernel_text(text: str) -> KernelText | None:
    """Read a file with one kernel that is launched in one place; None for any other."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    kernels = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_jit(node)]
    launches = [found for kernel in kernels for found in _launches(tree, kernel)]
    if len(launches) != 1:
        return None
    launch = launches[0]
    keywords = {k.arg: k.value for k in launch.call.keywords if k.arg}
    knobs = [_knob(tree, launch, name, value) for name, value in keywords.items() if name not in OPTIONS]
    options = {name: place_of(value) for name, value in keywords.items() if name in OPTIONS}
    return KernelText(text, launch, tuple(k for k in knobs if k is not None), options)


def place_of(node: ast.expr) -> Place:
    """Return where a node stands."""
    if node.end_lineno is None or node.end_col_offset is None:
        raise ValueError("a node without an end")
    return Place(node.end_lineno, node.col_offset if node.lineno == node.end_lineno else 0, node.end_col_offset)


def edited(text: str, edits: list[tuple[Place, str]]) -> str:
    """Return the text with pieces replaced."""
    lines = text.splitlines(keepends=True)
    for place, new in sorted(edits, key=lambda e: (e[0].line, e[0].start), reverse=True):
        raw = lines[place.line - 1].encode()
        lines[place.line - 1] = (raw[: place.start] + new.encode() + raw[place.end :]).decode()
    return "".join(lines)


def axes_of(kernel: ast.FunctionDef) -> dict[str, set[int]]:
    """Return for each name that the kernel multiplies with its place on axes of the grid, these axes."""
    programs = {name: axis for node in ast.walk(kernel) for name, axis in _program_names(node)}
    found: dict[str, set[int]] = {}
    for node in ast.walk(kernel):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Name):
            axis = program_axis(node.left, programs)
            if axis is not None:
                found.setdefault(node.right.id, set()).add(axis)
    return found


def program_axis(node: ast.expr, programs: Mapping[str, int]) -> int | None:
    """Return the axis when `node` is a program's place on it: the call, a name for it, or either after `.to(...)`."""
    match node:
        case ast.Name(id=name):
            return programs.get(name)
        case ast.Call(func=ast.Attribute(attr="program_id"), args=args, keywords=keywords):
            given = args[0] if args else keywords[0].value if keywords else None
            return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None
        case ast.Call(func=ast.Attribute(attr="to", value=inner)):
            return program_axis(inner, programs)
        case _:
            return None


def grid_elements(launch: Launch) -> list[ast.expr]:
    """Return the entries of the grid, through a variable or a lambda; empty where it is made in another way."""
    grid = launch.grid
    if isinstance(grid, ast.Name) and launch.host is not None:
        values = [s.value for s in ast.walk(launch.host) if isinstance(s, ast.Assign) and _assigns(s, grid.id)]
        grid = values[0] if len(values) == 1 else grid
    if isinstance(grid, ast.Lambda):
        grid = grid.body
    return list(grid.elts) if isinstance(grid, ast.Tuple) else []


def _program_names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that an assignment makes for a program's place."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return
    target, value = node.targets[0], node.value
    pairs: list[tuple[ast.expr, ast.expr]] = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for name, given in pairs:
        axis = program_axis(given, {})
        if isinstance(name, ast.Name) and axis is not None:
            yield name.id, axis


def _is_jit(node: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)


def _launches(tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[Launch]:
    hosts: list[ast.FunctionDef | None] = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    for host in hosts:
        for node in ast.walk(host) if host is not None else ():
            match node:
                case ast.Call(func=ast.Subscript(value=ast.Name(id=name), slice=grid)) if name == kernel.name:
                    yield Launch(kernel, node, grid, host)


def _knob(tree: ast.Module, launch: Launch, name: str, value: ast.expr) -> Knob | None:
    """Return the knob that a keyword of the launch is, None where its number is not stated or not one to vary."""
    if isinstance(value, ast.Name):
        bodies = [tree.body, launch.host.body if launch.host is not None else []]
        stated = [s.value for body in bodies for s in body if isinstance(s, ast.Assign) and _assigns(s, value.id)]
        number = stated[0] if len(stated) == 1 else None
        grids: list[ast.Constant] = []
    else:
        number = value
        grids = [*_in_grid(launch, name, value)] if isinstance(value, ast.Constant) else []
    if not isinstance(number, ast.Constant) or type(number.value) is not int or number.value & (number.value - 1):
        return None
    return Knob(name, number.value, tuple(place_of(node) for node in (number, *grids)))


def _in_grid(launch: Launch, name: str, value: ast.Constant) -> Iterator[ast.Constant]:
    """Yield where the grid repeats the number of a block: on the axis whose place the kernel multiplies with it."""
    axes = axes_of(launch.kernel).get(name, set())
    for element in (e for axis, e in enumerate(grid_elements(launch)) if axis in axes):
        for node in ast.walk(element):
            if isinstance(node, ast.Constant) and node.value == value.value:
                yield node


def _assigns(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def _after_last_argument(call: ast.Call) -> Place:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    last = max(given, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
    place = place_of(last)
    return Place(place.line, place.end, place.end)

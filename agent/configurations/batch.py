"""Several programs' work in one program: the place on one axis of the grid becomes a tile of places.

A row a program, with a short row, leaves lanes idle; a column a program reads memory with a stride. When one program
takes `BATCH` neighbouring places, its values that depend on the place gain a first dimension. The rewriting follows how
each value depends on the place, and gives up (None) at anything that it does not know.
"""

from __future__ import annotations

import ast
import copy

from agent.configurations.kinds import (
    ELEMENTWISE,
    REDUCTIONS,
    SCANS,
    Kind,
    Kinds,
    Unknown,
    axis_argument,
    is_type,
    joined,
    name_of,
    refuse,
)
from agent.configurations.places import KernelText, Launch, axes_of, edited, grid_elements, place_of, program_axis

SIZE, TOTAL = "BATCH", "batch_total"
_PLACE, _VALID = "batch_place", "batch_valid"


def batch_programs(file: KernelText, axis: int) -> str | None:
    """Let a program take `BATCH` places of `axis`; the text holds `BATCH` as a knob of the launch, set to 4."""
    elements = grid_elements(file.launch)
    if axis >= len(elements) or "meta" in ast.unparse(elements[axis]) or axis in _blocked_axes(file):
        return None  # (where the kernel multiplies its place with a block, a larger block does the same)
    try:
        kernel = _Batching(file.launch.kernel, axis).rewritten()
    except Unknown:
        return None
    return _with_kernel(file, kernel, _host_edits(file.launch, elements[axis]))


def _blocked_axes(file: KernelText) -> set[int]:
    axes = axes_of(file.launch.kernel)
    return {axis for knob in file.knobs for axis in axes.get(knob.name, ())}


def _host_edits(launch: Launch, total: ast.expr) -> list[tuple[ast.expr, str, str]]:
    """Return node, text put in its place, and text put after it."""
    text = ast.unparse(total)
    given = [*launch.call.args, *(k.value for k in launch.call.keywords)]
    last = max(given, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
    passed = f", {TOTAL}={text}, {SIZE}=4"
    return [(total, f"triton.cdiv({text}, 4)", ""), (last, "", passed)]


def _with_kernel(file: KernelText, kernel: ast.FunctionDef, host: list[tuple[ast.expr, str, str]]) -> str:
    """Put the new kernel in the place of the old one, and change the host."""
    edits = []
    for node, new, after in host:
        place = place_of(node)
        if new:
            edits.append((place, new))
        if after:
            edits.append((type(place)(place.line, place.end, place.end), after))
    lines = edited(file.text, edits).splitlines()
    old = file.launch.kernel
    first = min([old.lineno, *(d.lineno for d in old.decorator_list)])
    return "\n".join([*lines[: first - 1], *ast.unparse(kernel).splitlines(), *lines[old.end_lineno :]]) + "\n"


class _Batching:
    """The rewriting of one kernel."""

    def __init__(self, kernel: ast.FunctionDef, axis: int) -> None:
        self.kernel = copy.deepcopy(kernel)
        self.axis = axis
        self.language = "tl"
        self.known = Kinds(axis, self.language)
        self.seen_place = False

    def rewritten(self) -> ast.FunctionDef:
        """Return the kernel with the new dimension."""
        body = self.kernel.body
        self.known.settle(body)
        self.kernel.body = [*self._prelude(), *self._statements(body)]
        if not self.seen_place:
            raise Unknown
        constants = [
            a for a in self.kernel.args.args if a.annotation is not None and "constexpr" in ast.unparse(a.annotation)
        ]
        plain = [a for a in self.kernel.args.args if a not in constants]
        size = ast.arg(SIZE, ast.parse(f"{self.language}.constexpr", mode="eval").body)
        self.kernel.args.args = (
            [*plain, *constants, ast.arg(TOTAL), size] if not self.kernel.args.defaults else refuse()
        )
        return ast.fix_missing_locations(self.kernel)

    def _prelude(self) -> list[ast.stmt]:
        tl = self.language
        return ast.parse(
            f"{_PLACE} = {tl}.program_id({self.axis}) * {SIZE} + {tl}.arange(0, {SIZE})\n{_VALID} = {_PLACE} < {TOTAL}"
        ).body

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in body for new in self._statement(statement)]

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                statement.value = self._stored(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values) as given):
                given.elts = [self._stored(name_of(n), v) for n, v in zip(names, values, strict=True)]
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                statement.value = self._fitted(value, self.known.of[name])
            case ast.For(body=inner):
                statement.iter = self._expr(statement.iter) if isinstance(statement.iter, ast.Call) else refuse()
                statement.body = self._statements(inner)
            case ast.Expr(value=ast.Call() as call):
                statement.value = self._effect(call)
            case ast.Expr():
                pass
        return [statement]

    def _stored(self, name: str, value: ast.expr) -> ast.expr:
        """Return a value in the form of its variable: one that is batched elsewhere starts with that dimension."""
        wanted, own = self.known.of[name], self.known.kind(value)
        if wanted.batched == own.batched:
            return self._expr(value)
        if own.rank == 0 and _is_number(value):
            return _parsed(f"{self.language}.full(({SIZE},), {ast.unparse(value)}, {self.language}.float32)")
        match value:
            case ast.Call(func=ast.Attribute(attr=("zeros" | "full")), args=[ast.Tuple() as shape, *_]):
                shape.elts = [ast.Name(SIZE), *shape.elts]
                return value
            case _:
                raise Unknown

    def _fitted(self, node: ast.expr, to: Kind) -> ast.expr:
        """Return an expression of a rank that broadcasts to `to`."""
        own, new = self.known.kind(node), self._expr(node)
        if own.rank == to.rank or (own.rank == 0 and not own.batched):
            if not own.batched and to.batched and own.rank > 0:
                return _parsed(f"({ast.unparse(new)})[None, {', '.join(':' * own.rank)}]")
            return new
        if own.rank == 0:
            return _parsed(f"({ast.unparse(new)})[:, {', '.join(['None'] * to.rank)}]")
        raise Unknown

    def _expr(self, node: ast.expr) -> ast.expr:
        if program_axis(node, {}) == self.axis:
            self.seen_place = True
            return ast.Name(_PLACE) if not _converted(node) else _parsed(f"{_PLACE}.to({ast.unparse(node.args[0])})")  # type: ignore[attr-defined]
        match node:
            case ast.BinOp(left=left, right=right):
                kind = self.known.kind(node)
                node.left, node.right = self._fitted(left, kind), self._fitted(right, kind)
            case ast.Compare(left=left, comparators=[right]):
                kind = self.known.kind(node)
                node.left, node.comparators = self._fitted(left, kind), [self._fitted(right, kind)]
            case ast.UnaryOp(operand=operand):
                node.operand = self._expr(operand)
            case ast.Subscript(value=value, slice=ast.Tuple(elts=parts)):
                batched = self.known.kind(value).batched
                node.value = self._expr(value)
                if batched:
                    node.slice = ast.Tuple([ast.Slice(), *parts])
            case ast.Call():
                return self._call(node)
        return node

    def _call(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Attribute):
            node.args = [self._expr(arg) for arg in node.args]
            return node
        name = node.func.attr
        if name == "to":
            node.func.value = self._expr(node.func.value)
        elif name in ELEMENTWISE:
            kind = self.known.kind(node)
            node.args = [arg if is_type(arg) else self._fitted(arg, kind) for arg in node.args]
        elif name in REDUCTIONS | SCANS and self.known.kind(node.args[0]).batched:
            self._shift_axis(node)
        elif name in REDUCTIONS | SCANS:
            node.args[0] = self._expr(node.args[0])
        elif name == "load":
            self._access(node, self.known.kind(node))
        return node

    def _shift_axis(self, node: ast.Call) -> None:
        axis = axis_argument(node)
        number = 0 if axis is None else _number(axis)
        rest = [arg for arg in node.args[1:] if arg is not axis]
        node.keywords = [k for k in node.keywords if k.arg != "axis"]
        node.args = [self._expr(node.args[0]), ast.Constant(number + 1), *rest]

    def _access(self, node: ast.Call, kind: Kind) -> None:
        """Rewrite a load or store; lanes behind the last place of the axis touch nothing."""
        node.args = [self._fitted(arg, kind) for arg in node.args]
        masks = [k for k in node.keywords if k.arg == "mask"]
        for keyword in node.keywords:
            if keyword.arg in {"mask", "other"}:
                keyword.value = self._fitted(keyword.value, kind)
        if not kind.batched:
            return
        valid = f"{_VALID}[:, {', '.join(['None'] * kind.rank)}]" if kind.rank else _VALID
        if masks:
            masks[0].value = _parsed(f"({ast.unparse(masks[0].value)}) & {valid}")
        else:
            node.keywords.append(ast.keyword("mask", _parsed(valid)))

    def _effect(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Attribute) or len(node.args) < 2:
            raise Unknown
        name, pointer, value = node.func.attr, self.known.kind(node.args[0]), self.known.kind(node.args[1])
        if name not in {"store", "atomic_add"}:
            raise Unknown
        if name == "atomic_add" and not pointer.batched and value.batched:
            return self._added_up(node, value)
        kind = joined(pointer, value)
        if kind.batched and not pointer.batched:
            raise Unknown  # every place would write the same element
        if not kind.batched:
            raise Unknown  # a store that is the same for every place: once a program is not what was asked
        self._access(node, kind)
        return node

    def _added_up(self, node: ast.Call, value: Kind) -> ast.expr:
        """Add up the places before one atomic for all of them."""
        inner = ast.unparse(self._expr(node.args[1]))
        valid = f"{_VALID}[:, {', '.join(['None'] * value.rank)}]" if value.rank else _VALID
        node.args[0] = self._expr(node.args[0])
        node.args[1] = _parsed(f"{self.language}.sum({self.language}.where({valid}, {inner}, 0), 0)")
        if any(k.arg == "mask" and self.known.kind(k.value).batched for k in node.keywords):
            raise Unknown
        return node


def _is_number(node: ast.expr) -> bool:
    return all(
        isinstance(n, (ast.Constant, ast.UnaryOp, ast.USub, ast.Call, ast.Name, ast.Load)) for n in ast.walk(node)
    ) and (
        "float" in ast.unparse(node)
        or any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in ast.walk(node))
    )


def _converted(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to"


def _number(node: ast.expr) -> int:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else refuse()


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body

"""The smallest source edits that a counterfactual needs, made on syntax-tree positions; results may change."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.records import Launch, Structure
from agent.symptoms.base import Subject, Variant
from indexer.messages import message

Visit = Callable[[ast.expr], "ast.expr | str | None"]
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


@dataclass(frozen=True, slots=True)
class Edit:
    """New file text, with the first thing replaced and what it was replaced by."""

    source: str
    before: str
    after: str

    def variant(self, symptom: str, line: int | None) -> Variant:
        """Offer the edit as a counterfactual; its message is `symptoms.<symptom>_change`."""
        note = message(f"symptoms.{symptom}_change", line=line or 0, before=self.before, after=self.after)
        return Variant(note, self.source)


class Code:
    """A kernel's source around one line of it."""

    def __init__(self, source: str, line: int, launch: Launch) -> None:
        self.source = source
        self.line = line
        self.launch = launch
        self._lines = source.encode().splitlines(keepends=True)
        self._functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
        self.kernel = max(
            (f for f in self._functions if f.name == launch.kernel), key=_line, default=self._functions[0]
        )
        self.function = self._around(line)

    def _around(self, line: int) -> ast.FunctionDef:
        return max((f for f in self._functions if _covers(f, line)), key=_line, default=self.kernel)

    @property
    def constants(self) -> set[str]:
        """Return the names fixed when the kernel is compiled."""
        args = (*self.function.args.args, *self.function.args.kwonlyargs)
        marked = {a.arg for a in args if a.annotation is not None and "constexpr" in ast.unparse(a.annotation)}
        return marked | set(self.launch.constexprs)

    @property
    def pointers(self) -> set[str]:
        """Return the parameters that are pointers at this launch, those that are handed to a helper among them."""
        found = {name for name, kind in self.launch.signature.items() if kind.startswith("*")}
        if self.function is not self.kernel:
            params = [a.arg for a in self.function.args.args]
            found |= {p for p in params if any(names_in(value) & found for value, _ in self._handed(p, self.function))}
        return found

    def statements(self) -> Iterator[ast.stmt]:
        """Yield the simple statements of the function in order."""
        yield from _statements(self.function)

    def here(self) -> list[ast.stmt]:
        """Return the simple statements that cover the line."""
        return [s for s in self.statements() if _covers(s, self.line)]

    def around(self, kind: type[ast.stmt]) -> list[ast.stmt]:
        """Return the compound statements of a kind around the line, outermost first."""
        return sorted((n for n in ast.walk(self.function) if isinstance(n, kind) and _covers(n, self.line)), key=_line)

    def assigned(self, name: str) -> list[ast.expr]:
        """Return every value that the function assigns to a name."""
        return _assigned_in(self.function, name)

    def feeding(self, roots: Iterable[ast.expr]) -> list[ast.expr]:
        """Return the roots and all expressions that the names in them are computed from, in helpers and callers too."""
        found: list[ast.expr] = []
        seen: set[tuple[str, str]] = set()
        waiting = [(root, self._around(getattr(root, "lineno", self.line))) for root in roots]
        while waiting:
            expr, where = waiting.pop(0)
            found.append(expr)
            for name in names_in(expr):
                if (where.name, name) not in seen:
                    seen.add((where.name, name))
                    waiting += [(value, where) for value in _assigned_in(where, name)]
                    waiting += [*self._returned(name), *self._handed(name, where)]
        return found

    def _returned(self, name: str) -> list[tuple[ast.expr, ast.FunctionDef]]:
        """Return what a function of the file of that name returns."""
        called = [f for f in self._functions if f.name == name and f is not self.kernel]
        ends = [(n, f) for f in called for n in ast.walk(f) if isinstance(n, ast.Return)]
        return [(end.value, f) for end, f in ends if end.value is not None]

    def _handed(self, name: str, callee: ast.FunctionDef) -> list[tuple[ast.expr, ast.FunctionDef]]:
        """Return what the file's calls of a function hand over for one of its parameters."""
        params = [a.arg for a in callee.args.args]
        if name not in params:
            return []
        calls = [
            (n, f) for f in self._functions if f is not callee
            for n in ast.walk(f) if isinstance(n, ast.Call) and is_call(n, callee.name)
        ]  # fmt: skip
        placed = [(c.args[params.index(name)], f) for c, f in calls if params.index(name) < len(c.args)]
        return placed + [(k.value, f) for c, f in calls for k in c.keywords if k.arg == name]

    def is_tensor(self, expr: ast.expr) -> bool:
        """Tell whether an expression is computed from a range, so that it holds many values."""
        return any(is_call(n, "arange") for root in self.feeding([expr]) for n in ast.walk(root))

    def is_constant(self, expr: ast.expr) -> bool:
        """Tell whether an expression is fixed when the kernel is compiled."""
        return names_in(expr) <= self.constants and not any(isinstance(n, ast.Call) for n in ast.walk(expr))

    def calls(self, *names: str) -> list[ast.Call]:
        """Return the calls of the named `tl` functions in the statements on the line."""
        return [n for s in self.here() for n in ast.walk(s) if isinstance(n, ast.Call) and is_call(n, *names)]

    def change(self, roots: Iterable[ast.AST], visit: Visit) -> Edit | None:
        """Replace, from the outside in, each expression for which `visit` gives another; None when it gives none."""
        edits: list[tuple[ast.expr, str]] = []
        seen: set[int] = set()
        for root in roots:
            _collect(root, visit, edits, seen)
        return self.replace(edits)

    def replace(self, edits: Sequence[tuple[ast.expr | ast.stmt, str]]) -> Edit | None:
        """Replace expressions or statements by texts."""
        if not edits:
            return None
        data = b"".join(self._lines)
        for node, text in sorted(edits, key=lambda e: self._span(e[0])[0], reverse=True):
            start, end = self._span(node)
            data = data[:start] + text.encode() + data[end:]
        first = edits[0][0]
        return Edit(data.decode(), ast.unparse(first), edits[0][1])

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None  # noqa: S101, PT018 - parsed nodes have both
        starts = sum(map(len, self._lines[: node.lineno - 1])), sum(map(len, self._lines[: node.end_lineno - 1]))
        return starts[0] + node.col_offset, starts[1] + node.end_col_offset

    def wrap_body(self, header: str) -> Edit:
        """Put the kernel's body, its docstring apart, under a compound statement."""
        body = self.kernel.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
            body = body[1:]
        first, last = body[0].lineno - 1, body[-1].end_lineno or body[-1].lineno
        indent = b" " * body[0].col_offset
        moved = [b"    " + text if text.strip() else text for text in self._lines[first:last]]
        lines = [*self._lines[:first], indent + header.encode() + b"\n", *moved, *self._lines[last:]]
        return Edit(b"".join(lines).decode(), "", header)

    def hoist(self, statement: ast.stmt, loop: ast.stmt) -> Edit:
        """Move a simple statement in front of a loop around it."""
        first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
        text = b"".join(self._lines[first:last]).strip()
        moved = b" " * loop.col_offset + text + b"\n"
        start = loop.lineno - 1
        lines = [*self._lines[:start], moved, *self._lines[start:first], *self._lines[last:]]
        return Edit(b"".join(lines).decode(), text.decode(), text.decode())

    def replace_header(self, node: ast.stmt, header: str) -> Edit:
        """Replace the header line of a compound statement, up to its body."""
        body = getattr(node, "body", [])
        start = self._span(node)[0]
        stop = sum(map(len, self._lines[: body[0].lineno - 1]))
        data = b"".join(self._lines)
        old = data[start:stop].decode().split("\n")[0].rstrip()
        return Edit((data[:start] + header.encode() + b"\n" + data[stop:]).decode(), old, header)


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    yield from (n for n in ast.walk(function) if isinstance(n, _SIMPLE))


def _assigned_in(function: ast.FunctionDef, name: str) -> list[ast.expr]:
    return [value for s in _statements(function) if (value := _assigned_value(s, name)) is not None]


def _assigned_value(statement: ast.stmt, name: str) -> ast.expr | None:
    if isinstance(statement, ast.Assign):
        values = (value for t in statement.targets if (value := _of_target(t, statement.value, name)) is not None)
        return next(values, None)
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign)) and isinstance(statement.target, ast.Name):
        return statement.value if statement.target.id == name else None
    return None


def _of_target(target: ast.expr, value: ast.expr, name: str) -> ast.expr | None:
    """Return what a target gives to a name: of a tuple its own part, where the value is written as one."""
    if isinstance(target, ast.Name):
        return value if target.id == name else None
    if not isinstance(target, ast.Tuple):
        return None
    places = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name]
    if not places:
        return None
    apart = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
    return value.elts[places[0]] if apart and isinstance(value, ast.Tuple) else value


def _collect(node: ast.AST, visit: Visit, edits: list[tuple[ast.expr, str]], seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, ast.expr):
        new = visit(node)
        if new is not None:
            edits.append((node, new if isinstance(new, str) else _text(new)))
            return
    for child in ast.iter_child_nodes(node):
        _collect(child, visit, edits, seen)


def _text(expr: ast.expr) -> str:
    bound = isinstance(expr, (ast.Name, ast.Call, ast.Constant, ast.Attribute, ast.Subscript))
    return ast.unparse(expr) if bound else f"({ast.unparse(expr)})"


def names_in(expr: ast.AST) -> set[str]:
    """Return the names an expression reads, the modules `tl` and `triton` apart."""
    return {n.id for n in ast.walk(expr) if isinstance(n, ast.Name)} - {"tl", "triton"}


def is_call(node: ast.AST, *names: str) -> bool:
    """Tell whether a node calls one of the named functions, by its last name: `tl.load`, `triton.language.load`."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in names


def without(call: ast.Call, *keywords: str) -> ast.Call:
    """Return a copy of a call without the named keyword arguments."""
    new = copy.deepcopy(call)
    new.keywords = [k for k in new.keywords if k.arg not in keywords]
    return new


def cast(expr: ast.expr, dtype: str) -> str:
    """Return the text of `expr` cast to a `tl` type, instead of the cast that it may end in."""
    if isinstance(expr, ast.Call) and is_call(expr, "to") and isinstance(expr.func, ast.Attribute):
        expr = expr.func.value
    return f"{_text(expr)}.to(tl.{dtype})"


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _line(node: ast.stmt) -> int:
    return node.lineno


def edit_line(
    symptom: str,
    subject: Subject,
    structure: Structure,
    visit: Callable[[Code, ast.expr], ast.expr | str | None],
    *,
    nested: bool = False,
) -> Variant | None:
    """Offer the edit that `visit` makes to the statements on a structure's line; None where it finds nothing there.

    With `nested` it is made inside of what it is made to as well: of `a ^ b ^ c` both operations go. An update
    (`a ^= b`) counts as the operation that it is.
    """
    if structure.line is None:
        return None
    code = Code(subject.source, structure.line, subject.launch)

    def changed(node: ast.expr) -> ast.expr | str | None:
        new = visit(code, node)
        return _inside(node, lambda inner: visit(code, inner)) if nested and new is not None else new

    edit = code.replace(list(_updates(code.here(), changed))) or code.change(code.here(), changed)
    return edit.variant(symptom, structure.line) if edit else None


def _updates(statements: Iterable[ast.stmt], visit: Visit) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the updates whose operation is to be changed, and the assignments that stand for them."""
    for statement in statements:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            old = ast.Name(statement.target.id, ast.Load())
            new = visit(ast.copy_location(ast.BinOp(old, statement.op, statement.value), statement))
            if new is not None:
                yield statement, f"{old.id} = {new if isinstance(new, str) else _text(new)}"


def _inside(node: ast.expr, visit: Visit) -> ast.expr:
    """Return an expression with `visit` made to all of it, from the inside out."""

    class Changed(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            found = self.generic_visit(node)
            new = visit(found) if isinstance(found, ast.expr) else None
            return ast.parse(new, mode="eval").body if isinstance(new, str) else found if new is None else new

    made = Changed().visit(copy.deepcopy(node))
    assert isinstance(made, ast.expr)  # noqa: S101 - an expression stays one
    return made


def with_first_cast(call: ast.Call, dtype: str) -> str:
    """Return the text of a call whose first argument is cast to a `tl` type."""
    rest = [ast.unparse(a) for a in call.args[1:]] + [ast.unparse(k) for k in call.keywords]
    return f"{ast.unparse(call.func)}({', '.join([cast(call.args[0], dtype), *rest])})"

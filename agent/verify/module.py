"""A kernel file as its syntax shows it: who is bound where, which functions are kernels, which are the host's."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

# A candidate may never change these (design, section 8).
_PROTECTED = ("make_inputs", "reference", "SHAPES", "get_inputs", "get_init_inputs")
_BUILTINS = frozenset(dir(builtins))

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Fact:
    """What a rule saw: `what` compares and is shown, `line` is only shown."""

    what: str
    line: int


@dataclass(frozen=True)
class KernelModule:
    """The syntax tree of one file, and what the rules ask of it."""

    tree: ast.Module

    @cached_property
    def is_script(self) -> bool:
        """Tell whether the file makes no inputs for its host: then its top level is the host."""
        return not {"make_inputs", "get_inputs"} & set(_defined(self.tree))

    @cached_property
    def body(self) -> list[ast.stmt]:
        """Return the module's statements; a main block counts only in a script, which is run as one."""
        if self.is_script:
            return self.tree.body
        return [s for s in self.tree.body if not (isinstance(s, ast.If) and "__main__" in ast.unparse(s.test))]

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """Map each module-level name to the statements that bind it, in order."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in _module_level(self.body):
            for name in bound_names(statement):
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def references(self) -> frozenset[str]:
        """Return what answers for the right result: `reference`, and a KernelBench `Model` beside its replacement."""
        names = {"reference"} & set(self.bindings)
        if "Model" in self.bindings and ("ModelNew" in self.bindings or not self._uses_own_functions("Model")):
            names.add("Model")
        return frozenset(names)

    def _uses_own_functions(self, name: str) -> bool:
        used = {n.id for s in self.bindings[name] for n in ast.walk(s) if isinstance(n, ast.Name)}
        own = {n for n, bound in self.bindings.items() if isinstance(bound[-1], (ast.FunctionDef, ast.ClassDef))}
        return bool(used & own)

    @cached_property
    def protected(self) -> frozenset[str]:
        """Return the names a candidate may not change, with all module-level names that they need."""
        needed: set[str] = set()
        todo = [name for name in (*_PROTECTED, *self.references) if name in self.bindings]
        while todo:
            name = todo.pop()
            if name in needed or name not in self.bindings:
                continue
            needed.add(name)
            for statement in self.bindings[name]:
                todo += [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
        return frozenset(needed)

    @cached_property
    def kernels(self) -> dict[str, Function]:
        """Return the functions that Triton compiles, by name."""
        return {f.name: f for f in self.body if isinstance(f, Function) and _is_jit(f)}

    @cached_property
    def launchable(self) -> frozenset[str]:
        """Return the kernels' names and the names bound to one of them (`KERNEL = kern`)."""
        names = set(self.kernels)
        for statement in self.body:
            if isinstance(statement, ast.Assign) and any(
                isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement.value)
            ):
                names.update(bound_names(statement))
        return frozenset(names)

    @cached_property
    def host(self) -> list[ast.stmt]:
        """Return the statements a candidate may change, kernels excepted."""
        return [
            statement
            for statement in self.body
            if not (isinstance(statement, Function) and statement.name in self.kernels)
            and not (bound_names(statement) and set(bound_names(statement)) <= self.protected)
        ]

    @cached_property
    def host_nodes(self) -> list[ast.AST]:
        """Return every node of the host's code; what decorates a kernel (hooks, heuristics) runs in the host too."""
        around = [d for kernel in self.kernels.values() for d in (*kernel.decorator_list, *defaults(kernel))]
        return [node for part in (*self.host, *around) for node in ast.walk(part)]

    @cached_property
    def host_functions(self) -> list[Function]:
        """Return the host's functions and methods, nested ones included."""
        return [node for node in self.host_nodes if isinstance(node, Function)]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return every node of the file that runs."""
        return [node for statement in self.body for node in ast.walk(statement)]

    @cached_property
    def imports(self) -> list[Fact]:
        """Return the modules imported anywhere, by full name."""
        found = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [Fact(alias.name, node.lineno) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found.append(Fact(node.module or "", node.lineno))
        return found

    @cached_property
    def modules(self) -> dict[str, str]:
        """Map each name that an import binds to what it stands for: `F` -> `torch.nn.functional`."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        return found

    def resolve(self, node: ast.expr) -> str:
        """Return the dotted name of `node` with imports replaced (`F.relu` -> `torch.nn.functional.relu`), or ""."""
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            return f"{base}.{node.attr}" if base else ""
        if not isinstance(node, ast.Name):
            return ""
        if node.id in self.modules:
            return self.modules[node.id]
        return f"builtins.{node.id}" if node.id in _BUILTINS and node.id not in self.bindings else node.id

    def torch_name(self, call: ast.Call) -> str:
        """Return `nn.functional.relu` for a call of `F.relu`, "" for what is not torch's."""
        name = self.resolve(call.func)
        return name.removeprefix("torch.") if name.startswith("torch.") else ""

    def is_launch(self, node: ast.AST) -> bool:
        """Tell whether `node` starts a kernel: `kern[grid](…)`, `kern.run(…)`."""
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Subscript):
            return root_name(node.func.value) in self.launchable
        return isinstance(node.func, ast.Attribute) and node.func.attr == "run" and self._names_kernel(node.func.value)

    def _names_kernel(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.launchable


def bound_names(statement: ast.AST) -> list[str]:
    """Return the names that one statement binds where it stands."""
    if isinstance(statement, Definition):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For)):
        targets = [statement.target]
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _defined(tree: ast.Module) -> Iterator[str]:
    return (name for statement in tree.body for name in bound_names(statement))


def _module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run at import, inside `if`, `try`, `with` and loops too."""
    for statement in body:
        yield statement
        if isinstance(statement, Definition):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _module_level(getattr(statement, field, []))
        for handler in getattr(statement, "handlers", []):
            yield from _module_level(handler.body)


def _is_jit(function: Function) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "jit") or (isinstance(node, ast.Name) and node.id == "jit")
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
    )


def parameters(function: Function) -> list[ast.arg]:
    """Return the named parameters of a function."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def defaults(function: Function) -> list[ast.expr]:
    """Return the default values of a function's parameters."""
    return [*function.args.defaults, *(default for default in function.args.kw_defaults if default is not None)]


def own_names(function: Function) -> frozenset[str]:
    """Return the names that are a call's own: parameters, and what the function binds, nested functions left out."""
    names = {a.arg for a in (*parameters(function), function.args.vararg, function.args.kwarg) if a is not None}
    names |= {n.id for n in inside(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    outer = {name for n in inside(function) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    nested = [n for n in inside(function) if isinstance(n, Definition)]
    return frozenset((names | {n.name for n in nested}) - outer)


def inside(function: Function) -> Iterator[ast.AST]:
    """Yield every node of a function's body."""
    for statement in function.body:
        yield from ast.walk(statement)


def root_name(node: ast.expr) -> str:
    """Return `a` for `a.b[c].d(e)`, "" where there is no name at the root."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def words(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())

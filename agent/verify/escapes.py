"""Rules of the cheat scan about leaving the file: the world outside, the interpreter's insides, hidden failures."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.verify.module import Fact, KernelModule, bound_names, root_name, words

_OUTSIDE = words(
    "os sys subprocess socket pathlib shutil io pickle marshal ctypes cffi mmap importlib runpy builtins tempfile glob "
    "threading multiprocessing asyncio concurrent signal urllib requests http"
)
_OUTSIDE_CALLS = words(
    "builtins.open builtins.eval builtins.exec builtins.compile builtins.__import__ builtins.input torch.load "
    "torch.save torch.from_file torch.compile torch.ops.load_library numpy.load numpy.save numpy.fromfile numpy.memmap"
)


def see_outside_access(module: KernelModule) -> Iterator[Fact]:
    """See files, processes, networks, threads, and code made from text."""
    for fact in module.imports:
        if fact.what.partition(".")[0] in _OUTSIDE:
            yield Fact(f"import {fact.what}", fact.line)
    for node in module.nodes:
        if isinstance(node, ast.Call) and module.resolve(node.func) in _OUTSIDE_CALLS:
            yield Fact(f"{ast.unparse(node.func)}(…)", node.lineno)


_INTROSPECTION = words("inspect gc traceback dis types weakref ast")
_INTROSPECTION_CALLS = frozenset(f"builtins.{n}" for n in ("globals", "locals", "vars", "setattr", "delattr", "dir"))
_INTERNALS = words(
    "__globals__ __code__ __closure__ __dict__ __defaults__ __subclasses__ __mro__ __builtins__ _getframe f_back "
    "f_locals f_globals modules"
)


def see_introspection(module: KernelModule) -> Iterator[Fact]:
    """See a look at frames, globals or other objects' insides: that is how a candidate finds out that it is checked."""
    for fact in module.imports:
        if fact.what.partition(".")[0] in _INTROSPECTION:
            yield Fact(f"import {fact.what}", fact.line)
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr in _INTERNALS:
            yield Fact(f".{node.attr}", node.lineno)
        elif isinstance(node, ast.Name) and node.id == "__builtins__":
            yield Fact(node.id, node.lineno)
        elif isinstance(node, ast.Call):
            name = module.resolve(node.func)
            computed = len(node.args) > 1 and not isinstance(node.args[1], ast.Constant)
            if name in _INTROSPECTION_CALLS or (name == "builtins.getattr" and computed):
                yield Fact(f"{ast.unparse(node.func)}(…)", node.lineno)


# Names that the host's own code, or what runs it, looks up.
_RELIED_ON = words("isinstance print range len tuple list dict float int bool abs min max sum any all zip")


def see_monkey_patch(module: KernelModule) -> Iterator[Fact]:
    """See an assignment into an imported module or a kernel, or over an import or a builtin."""
    for node in module.nodes:
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if root_name(node) in module.modules or root_name(node) in module.launchable:
                yield Fact(f"{ast.unparse(node)} = …", node.lineno)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in bound_names(node):
                if name in module.modules or name in _RELIED_ON:
                    yield Fact(f"{name} = …", getattr(node, "lineno", 1))


def see_fallback(module: KernelModule) -> Iterator[Fact]:
    """See a handler that hides a failing launch; one that only raises again hides nothing."""
    for node in module.host_nodes:
        if isinstance(node, ast.Try) and not all(isinstance(h.body[-1], ast.Raise) for h in node.handlers):
            yield Fact("try … except", node.lineno)
        elif isinstance(node, ast.With) and "suppress" in ast.unparse(node.items[0].context_expr):
            yield Fact("with suppress(…)", node.lineno)

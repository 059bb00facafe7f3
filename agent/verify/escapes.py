"""Rules of the cheat scan about leaving the file: the world outside, the interpreter's insides, hidden failures."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.verify.module import Fact, Function, KernelModule, bound_names, root_name, words

# What a host may import for a kernel; anything else reaches further than a kernel's host has to (`operator` computes).
_ALLOWED = words(
    "torch triton torch_npu math cmath itertools functools typing typing_extensions dataclasses enum "
    "collections contextlib numbers fractions decimal string copy abc warnings __future__"
)
# Parts of what is allowed that load code or data, start processes or talk to others; and modules that libraries happen
# to hold under their own names (`torch.os`).
_OUTSIDE = words(
    "os sys subprocess socket pathlib shutil io pickle marshal ctypes cffi mmap importlib runpy builtins tempfile glob "
    "threading multiprocessing asyncio concurrent signal urllib requests http posix fcntl resource select pty ssl code "
    "codecs base64 zlib atexit platform cpp_extension hub distributed rpc jit package serialization _C "
    "_dynamo _inductor library profiler"
)
_LIBRARIES = words("torch triton torch_npu numpy")
# `triton.jit` is how a kernel is made.
_FINE = words("triton.jit triton.runtime.jit triton.runtime.JITFunction")
_OUTSIDE_CALLS = words(
    "builtins.open builtins.eval builtins.exec builtins.compile builtins.__import__ builtins.input torch.load "
    "torch.save torch.from_file torch.compile torch.ops.load_library numpy.load numpy.save numpy.fromfile numpy.memmap"
)


def see_outside_access(module: KernelModule) -> Iterator[Fact]:
    """See files, processes, networks, threads, and code made from text."""
    for fact in module.imports:
        top, *rest = fact.what.split(".")
        if top not in _ALLOWED or (_OUTSIDE.intersection(rest) and fact.what not in _FINE):
            yield Fact(f"import {fact.what}", fact.line)
    for alias, target in module.modules.items():
        if _is_outside_part(target):
            yield Fact(f"import {target} as {alias}", 1)
    for node in module.nodes:
        if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
            name = module.resolve(node)
            if name in _OUTSIDE_CALLS or _is_outside_part(name):
                yield Fact(ast.unparse(node), node.lineno)


def _is_outside_part(name: str) -> bool:
    """Tell whether a dotted name is a library's part that reaches outside: `torch.os`, `torch.utils.cpp_extension`."""
    library, *rest = name.split(".")
    return library in _LIBRARIES and bool(rest) and rest[-1] in _OUTSIDE and name not in _FINE


_INTROSPECTION = words("inspect gc traceback dis types weakref ast")
# Methods that Python calls by itself, when a host no longer runs or where it does not see that something is called.
_HOOKS = words(
    "__del__ __reduce__ __reduce_ex__ __getattr__ __getattribute__ __setattr__ __torch_function__ __torch_dispatch__ "
    "__repr__ __str__ __eq__ __init_subclass__ __set_name__ __class_getitem__ __iter__ __next__ __index__ __bool__ "
    "__array__ __format__ __hash__ __len__ __getitem__ __instancecheck__ __prepare__ __new__"
)
_INTROSPECTION_CALLS = frozenset(f"builtins.{n}" for n in ("globals", "locals", "vars", "setattr", "delattr", "dir"))
_INTERNALS = words("_getframe f_back f_locals f_globals modules gi_frame cr_frame ag_frame tb_frame gi_code cr_code")
# The only names between double underscores that a host has to ask for.
_PLAIN_DUNDERS = words("__init__ __name__ __doc__ __call__ __version__")


def see_introspection(module: KernelModule) -> Iterator[Fact]:
    """See a look at frames, globals or other objects' insides: that is how a candidate finds out that it is checked."""
    for fact in module.imports:
        if fact.what.partition(".")[0] in _INTROSPECTION:
            yield Fact(f"import {fact.what}", fact.line)
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and (node.attr in _INTERNALS or _is_inner(node.attr)):
            yield Fact(f".{node.attr}", node.lineno)
        elif isinstance(node, ast.Name) and node.id in {"__builtins__", "__loader__", "__spec__"}:
            yield Fact(node.id, node.lineno)
        elif isinstance(node, Function) and node.name in _HOOKS:
            yield Fact(f"def {node.name}", node.lineno)
        elif isinstance(node, ast.Call):
            name = module.resolve(node.func)
            asked = node.args[1] if name == "builtins.getattr" and len(node.args) > 1 else None
            plain = (
                isinstance(asked, ast.Constant) and not _is_inner(str(asked.value)) and asked.value not in _INTERNALS
            )
            of_library = asked is not None and root_name(node.args[0]) in module.modules
            if name in _INTROSPECTION_CALLS or (asked is not None and (not plain or of_library)):
                yield Fact(f"{ast.unparse(node.func)}(…)", node.lineno)


def _is_inner(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _PLAIN_DUNDERS


# Names that the host's own code, or what runs it, looks up.
_RELIED_ON = words("isinstance print range len tuple list dict float int bool abs min max sum any all zip")


def see_monkey_patch(module: KernelModule) -> Iterator[Fact]:
    """See an assignment into an imported module, a kernel or any object but its own, or over an import or a builtin."""
    for node in module.nodes:
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            root = root_name(node)
            foreign = isinstance(node, ast.Attribute) and root not in {"self", "ctx"}
            if foreign or root in module.modules or root in module.launchable:
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

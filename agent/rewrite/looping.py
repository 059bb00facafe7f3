"""Put a kernel's whole body in a loop, and change what it says inside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from agent.rewrite.flow import assigned_in
from agent.rewrite.source import Edit, KernelFile, argument, dotted, foreign_modules, walk

_PYTHON = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "print", "range"})

# What stands in the place of a node of the body; None: look inside it.
Substitute = Callable[[cst.CSTNode], str | None]


@dataclass(frozen=True, slots=True)
class Wrapping:
    """A loop around the body: lines before it, its header, and a line of the body that it makes needless."""

    before: Sequence[str]
    header: str
    dropped: cst.SimpleStatementLine | None = None


def wrap_body(file: KernelFile, wrapping: Wrapping, substitute: Substitute) -> list[Edit] | None:
    """Make the edits that wrap the body; None where it cannot stand in a loop.

    A parameter that the body changes gets a variable of its own in each round, so that it starts anew.
    """
    statements = [line for line in file.kernel.body.body if line is not docstring(file)]
    if not statements or not _can_loop(file):
        return None
    parameters = parameter_names(file)
    own = {name: file.fresh(f"{name}_here") for name in assigned_in(file.kernel.body) if name in parameters}

    def replaced(node: cst.CSTNode) -> str | None:
        if isinstance(node, cst.Name) and node.value in own:
            return own[node.value]
        return substitute(node)

    lines = [*wrapping.before, wrapping.header, *(f"    {new} = {name}" for name, new in own.items())]
    indent = file.indent(statements[0])
    start = file.span(statements[0])[0] - len(indent)
    opening = Edit(start, start, "".join(f"{indent}{line}\n" for line in lines))
    inside = [e for line in statements if line is not wrapping.dropped for e in substituted(line, file, replaced)]
    return [opening, *_indented(file, statements, wrapping.dropped), *inside]


def substituted(node: cst.CSTNode, file: KernelFile, substitute: Substitute) -> Iterator[Edit]:
    """Yield the edits for the outermost nodes in `node` that have a substitute."""
    text = substitute(node)
    if text is not None:
        yield file.replace(node, text)
    elif isinstance(node, (cst.Attribute, cst.Arg)):
        yield from substituted(node.value, file, substitute)
    else:
        for child in node.children:
            yield from substituted(child, file, substitute)


def add_parameters(file: KernelFile, names: Sequence[str], annotation: str = "") -> Edit | None:
    """Make the edit that gives the kernel more parameters at the end; None where its list ends in another way."""
    given = file.kernel.params
    if given.star_arg is not cst.MaybeSentinel.DEFAULT or given.kwonly_params or given.star_kwarg or not given.params:
        return None
    last = given.params[-1]
    end = last.default or (last.annotation.annotation if last.annotation is not None else last.name)
    typed = f": {annotation}" if annotation else ""
    default = "" if last.default is None else (" = 1" if annotation else "=1")
    return file.append_to_list(given.params[0].name, end, *(f"{name}{typed}{default}" for name in names))


def language_call(node: cst.CSTNode, file: KernelFile) -> str:
    """Return the name of the function of `triton.language` that `node` calls, "" for anything else."""
    node = file.plain(node)
    if not isinstance(node, cst.Call):
        return ""
    owner, _, name = dotted(node.func).rpartition(".")
    return name if owner == file.language else ""


def calls_only_known(node: cst.CSTNode, file: KernelFile, forbidden: Collection[str]) -> bool:
    """Tell whether no function of the file that `node` calls, at any depth, calls one of `forbidden` of the language.

    A function from elsewhere counts as one that does; those of the language, its library and Python do not.
    """
    functions = {n.name.value: n for n in walk(file.module) if isinstance(n, cst.FunctionDef)}
    modules = foreign_modules(file)
    waiting, seen = [node], set[str]()
    while waiting:
        for call in (inner for inner in walk(waiting.pop()) if isinstance(inner, cst.Call)):
            name = dotted(call.func)
            if name in seen or name in _PYTHON:
                continue
            if isinstance(call.func, cst.Attribute) and name.partition(".")[0] not in modules:
                continue
            if name not in functions or any(language_call(n, file) in forbidden for n in walk(functions[name])):
                return False
            seen.add(name)
            waiting.append(functions[name])
    return True


def axis_of(call: cst.CSTNode) -> int | None:
    """Return the literal axis that a call such as `tl.program_id(0)` asks for."""
    given = argument(call, "axis", 0) if isinstance(call, cst.Call) else None
    return int(given.value.value) if given is not None and isinstance(given.value, cst.Integer) else None


def parameter_names(file: KernelFile) -> frozenset[str]:
    """Return the names of the kernel's parameters."""
    return frozenset(parameter.name.value for parameter in file.kernel.params.params)


def docstring(file: KernelFile) -> cst.CSTNode | None:
    """Return the statement that is the kernel's docstring."""
    first = file.kernel.body.body[0]
    match first:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return first
        case _:
            return None


def _can_loop(file: KernelFile) -> bool:
    """Tell whether the body may stand in a loop: it does not return, and holds no text over several lines."""
    documented = docstring(file)
    body = [line for line in file.kernel.body.body if line is not documented]
    for node in (inner for line in body for inner in walk(line)):
        if isinstance(node, (cst.Return, cst.FunctionDef, cst.Global, cst.Nonlocal)):
            return False
        if isinstance(node, (cst.SimpleString, cst.FormattedString)) and len(file.lines(node)) > 1:
            return False
    return True


def _indented(file: KernelFile, statements: Sequence[cst.CSTNode], dropped: cst.CSTNode | None) -> Iterator[Edit]:
    """Move every line of the body in by four columns, and drop the line `dropped`."""
    position = file.data.rfind(b"\n", 0, file.span(statements[0])[0]) + 1
    end = file.span(statements[-1])[1]
    gone = file.span(dropped)[0] if dropped is not None else -1
    while 0 <= position < end:
        following = file.data.find(b"\n", position) + 1 or len(file.data)
        if position <= gone < following:
            yield Edit(position, following, "")
        elif file.data[position:following].strip():
            yield Edit(position, position, "    ")
        position = following if following < len(file.data) else end

"""Launch one program a core and let each take several of the former programs in a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from agent.records import Structure
from agent.rewrite.flow import assigned_in, targets
from agent.rewrite.launchsite import LaunchSite, all_launches_seen, find_launches, limit_grid, read_total
from agent.rewrite.source import Edit, KernelFile, argument, dotted, read_kernel, walk
from agent.symptoms.base import Rewrite, Subject
from agent.toolchain.targets import find_target
from indexer.messages import message


def share_cores(subject: Subject, _structure: Structure) -> Rewrite | None:
    """Wrap the kernel in `for pid in range(program_id, total, num_programs)` and launch as many as there are cores."""
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None or subject.launch.grid[1:] != (1, 1) or not _can_loop(file):
        return None
    cores = _cores(file, subject)
    if subject.launch.programs <= cores:
        return None
    total = file.fresh("total_programs")
    host = _host_edits(file, cores, total)
    kernel = _kernel_edits(file, total)
    source = file.apply([*host, *kernel]) if host is not None and kernel is not None else None
    if source is None:
        return None
    claim = message("rewrite.share_cores_claim", programs=subject.launch.programs, cores=cores)
    return Rewrite("share_cores", source, claim, message("rewrite.share_cores_precondition"))


def _cores(file: KernelFile, subject: Subject) -> int:
    target = find_target(subject.compilation.target)
    uses_cube = any(_language_call(node, file) in {"dot", "dot_scaled"} for node in walk(file.kernel))
    return target.cube_cores if uses_cube else target.vector_cores


def _can_loop(file: KernelFile) -> bool:
    """Tell whether the body may stand in a loop: no return, only the first grid axis, no text over several lines."""
    for node in walk(file.kernel.body):
        if isinstance(node, (cst.Return, cst.FunctionDef, cst.Global, cst.Nonlocal)) or _spans_lines(node, file):
            return False
        if _language_call(node, file) in {"program_id", "num_programs"} and _axis(node) != 0:
            return False
    return any(_language_call(node, file) == "program_id" for node in walk(file.kernel.body))


def _spans_lines(node: cst.CSTNode, file: KernelFile) -> bool:
    """Tell whether `node` is a string of several lines, which indenting would change (a docstring stays outside)."""
    if not isinstance(node, (cst.SimpleString, cst.FormattedString)) or len(file.lines(node)) == 1:
        return False
    docstring = _docstring(file)
    return docstring is None or all(inner is not node for inner in walk(docstring))


def _host_edits(file: KernelFile, cores: int, total: str) -> list[Edit] | None:
    sites: list[LaunchSite] = list(find_launches(file))
    if not sites or not all_launches_seen(file):
        return None
    edits: list[Edit] = []
    for site in sites:
        programs = read_total(site, file)
        if programs is None:
            return None
        edits += limit_grid(site, file, programs, cores, total)
    return edits


def _kernel_edits(file: KernelFile, total: str) -> list[Edit] | None:
    """Add the parameter, and put the body in the loop."""
    parameter = _parameter_edit(file, total)
    statements = [line for line in file.kernel.body.body if line is not _docstring(file)]
    if parameter is None or not statements:
        return None
    index = _index_assignment(file)
    program = targets(index.body[0])[0] if index is not None else file.fresh("program")
    own = {name: file.fresh(f"{name}_here") for name in assigned_in(file.kernel.body) if name in _parameters(file)}
    count = f"{file.language}.program_id(0), {total}, {file.language}.num_programs(0)"
    header = [f"for {program} in range({count}):{_comment(index)}"]
    header += [f"    {new} = {name}" for name, new in own.items()]
    first = file.span(statements[0])[0]
    indent = file.indent(statements[0])
    opening = Edit(first - len(indent), first - len(indent), "".join(f"{indent}{line}\n" for line in header))
    names = _Names(program, total, own)
    replaced = [e for line in statements if line is not index for e in _replaced(line, file, names)]
    return [parameter, opening, *_indented(file, statements, index), *replaced]


def _parameter_edit(file: KernelFile, total: str) -> Edit | None:
    given = file.kernel.params
    if given.star_arg is not cst.MaybeSentinel.DEFAULT or given.kwonly_params or given.star_kwarg or not given.params:
        return None
    last = given.params[-1]
    end = last.default or (last.annotation.annotation if last.annotation is not None else last.name)
    return file.append_to_list(given.params[0].name, end, total if last.default is None else f"{total}=1")


def _index_assignment(file: KernelFile) -> cst.SimpleStatementLine | None:
    """Return the line `pid = tl.program_id(0)`, where it stands alone and is the only assignment to its name."""
    for line in file.kernel.body.body:
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call() as call)]
            ) if _language_call(call, file) == "program_id":
                assigned = [node for node in walk(file.kernel) if name in targets(node)]
                return line if len(assigned) == 1 and name not in _parameters(file) else None
    return None


def _comment(line: cst.SimpleStatementLine | None) -> str:
    comment = line.trailing_whitespace.comment if line is not None else None
    return f"  {comment.value}" if comment is not None else ""


def _indented(file: KernelFile, statements: Sequence[cst.CSTNode], index: cst.CSTNode | None) -> Iterator[Edit]:
    """Move every line of the body in by four columns, and drop the line `index`."""
    start = file.span(statements[0])[0]
    position = file.data.rfind(b"\n", 0, start) + 1
    end = file.span(statements[-1])[1]
    dropped = file.span(index)[0] if index is not None else -1
    while 0 <= position < end:
        following = file.data.find(b"\n", position) + 1 or len(file.data)
        line = file.data[position:following]
        if position <= dropped < following:
            yield Edit(position, following, "")
        elif line.strip():
            yield Edit(position, position, "    ")
        position = following if following < len(file.data) else end


@dataclass(frozen=True, slots=True)
class _Names:
    """What stands for what inside the loop."""

    program: str
    total: str
    own: Mapping[str, str]


def _replaced(node: cst.CSTNode, file: KernelFile, names: _Names) -> Iterator[Edit]:
    """Yield the edits that let `node` speak of the loop's program instead of the launched one."""
    name = _language_call(node, file)
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to"))) if _is_program(inner, file, names):
            # The loop variable is a plain number in the interpreter, which has no method `to`.
            yield file.replace(node, f"{file.language}.cast({names.program}, {file.text(node.args[0])})")
        case cst.Call() if name in {"program_id", "num_programs"}:
            yield file.replace(node, names.program if name == "program_id" else names.total)
        case cst.Name(value=variable):
            if variable in names.own:
                yield file.replace(node, names.own[variable])
        case cst.Attribute() | cst.Arg():
            yield from _replaced(node.value, file, names)
        case _:
            for child in node.children:
                yield from _replaced(child, file, names)


def _is_program(node: cst.CSTNode, file: KernelFile, names: _Names) -> bool:
    return dotted(node) == names.program or _language_call(node, file) == "program_id"


def _language_call(node: cst.CSTNode, file: KernelFile) -> str:
    if not isinstance(node, cst.Call):
        return ""
    owner, _, name = dotted(node.func).rpartition(".")
    return name if owner == file.language else ""


def _axis(call: cst.CSTNode) -> int | None:
    given = argument(call, "axis", 0) if isinstance(call, cst.Call) else None
    return int(given.value.value) if given is not None and isinstance(given.value, cst.Integer) else None


def _parameters(file: KernelFile) -> frozenset[str]:
    return frozenset(parameter.name.value for parameter in file.kernel.params.params)


def _docstring(file: KernelFile) -> cst.CSTNode | None:
    first = file.kernel.body.body[0]
    match first:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return first
        case _:
            return None

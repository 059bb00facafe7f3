"""Launch one program a core and let each take several of the former programs in a loop."""

from __future__ import annotations

import libcst as cst

from agent.records import Launch, Structure
from agent.rewrite.flow import targets
from agent.rewrite.grids import limit_tuned_grid
from agent.rewrite.launchsite import (
    LaunchSite,
    add_constants,
    all_launches_seen,
    constant_host,
    find_launches,
    limit_grid,
    read_total,
)
from agent.rewrite.looping import (
    Substitute,
    Wrapping,
    add_parameters,
    axis_of,
    calls_only_known,
    language_call,
    parameter_names,
    wrap_body,
)
from agent.rewrite.source import Edit, KernelFile, dotted, read_kernel, walk
from agent.symptoms.base import Rewrite, Subject
from agent.toolchain.targets import find_target
from indexer.messages import message


def share_cores(subject: Subject, _structure: Structure) -> Rewrite | None:
    """Wrap the kernel in `for pid in range(program_id, total, num_programs)` and launch as many as there are cores."""
    file = read_kernel(subject.source, subject.launch.kernel)
    if file is None or subject.launch.grid[1:] != (1, 1) or not _uses_first_axis_only(file):
        return None
    cores = _cores(file, subject)
    if subject.launch.programs <= cores:
        return None
    edits = _passed_total(file, cores, subject.launch) or _tuned_total(file, cores)
    source = file.apply(edits) if edits is not None else None
    if source is None:
        return None
    claim = message("rewrite.share_cores_claim", programs=subject.launch.programs, cores=cores)
    return Rewrite("share_cores", source, claim, message("rewrite.share_cores_precondition"))


def _cores(file: KernelFile, subject: Subject) -> int:
    target = find_target(subject.compilation.target)
    uses_cube = any(language_call(node, file) in {"dot", "dot_scaled"} for node in walk(file.kernel))
    return target.cube_cores if uses_cube else target.vector_cores


def _uses_first_axis_only(file: KernelFile) -> bool:
    """Tell whether programs know their place by the first axis alone, and none waits for another."""
    calls = [node for node in walk(file.kernel.body) if language_call(node, file) in {"program_id", "num_programs"}]
    known = calls_only_known(file.kernel.body, file, {"program_id", "num_programs"})
    waits = any(language_call(node, file) in {"atomic_cas", "atomic_xchg"} for node in walk(file.kernel.body))
    return known and not waits and bool(calls) and all(axis_of(call) == 0 for call in calls)


def _passed_total(file: KernelFile, cores: int, launch: Launch) -> list[Edit] | None:
    """Let the host pass the number of programs as one more argument."""
    total = file.fresh("total_programs")
    host, parameter, kernel = (
        _host_edits(file, cores, total, launch),
        add_parameters(file, [total]),
        _looped(file, total),
    )
    return [*host, parameter, *kernel] if host and parameter is not None and kernel is not None else None


def _tuned_total(file: KernelFile, cores: int) -> list[Edit] | None:
    """Let the kernel compute the number of programs itself, where only the autotuner's configuration tells it."""
    parameters = [parameter.name.value for parameter in file.kernel.params.params]
    found = [limit_tuned_grid(site, file, parameters, cores) for site in find_launches(file)]
    grids = [grid for grid in found if grid is not None]
    totals = {grid.total for grid in grids}
    if len(totals) != 1 or len(grids) != len(found) or not all_launches_seen(file):
        return None
    kernel = _looped(file, totals.pop())
    return [*(grid.edit for grid in grids), *kernel] if kernel is not None else None


def _host_edits(file: KernelFile, cores: int, total: str, launch: Launch) -> list[Edit] | None:
    sites: list[LaunchSite] = list(find_launches(file))
    stated = constant_host(file)
    if stated is not None and not sites and len(stated.grid.elements) == 1:
        grid = file.replace(stated.grid.elements[0].value, str(cores))
        return [grid, *add_constants(stated, file, {total: launch.programs})]
    if not sites or not all_launches_seen(file):
        return None
    edits: list[Edit] = []
    for site in sites:
        programs = read_total(site, file)
        if programs is None:
            return None
        edits += limit_grid(site, file, programs, cores, total)
    return edits


def _looped(file: KernelFile, total: str) -> list[Edit] | None:
    """Put the body in the loop over `total` programs."""
    index = _index_assignment(file)
    program = targets(index.body[0])[0] if index is not None else file.fresh("program")
    count = f"{file.language}.program_id(0), {total}, {file.language}.num_programs(0)"
    wrapping = Wrapping((), f"for {program} in range({count}):{_comment(index)}", index)
    return wrap_body(file, wrapping, _in_loop(file, program, total))


def _index_assignment(file: KernelFile) -> cst.SimpleStatementLine | None:
    """Return the line `pid = tl.program_id(0)`, where it stands alone and is the only assignment to its name."""
    for line in file.kernel.body.body:
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call() as call)]
            ) if language_call(call, file) == "program_id":
                assigned = [node for node in walk(file.kernel) if name in targets(node)]
                return line if len(assigned) == 1 and name not in parameter_names(file) else None
    return None


def _comment(line: cst.SimpleStatementLine | None) -> str:
    comment = line.trailing_whitespace.comment if line is not None else None
    return f"  {comment.value}" if comment is not None else ""


def _in_loop(file: KernelFile, program: str, total: str) -> Substitute:
    """Let the body speak of the loop's program instead of the launched one."""

    def is_program(node: cst.CSTNode) -> bool:
        return dotted(node) == program or language_call(node, file) == "program_id"

    def substitute(node: cst.CSTNode) -> str | None:
        match node:
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="to"))) if is_program(inner):
                # The loop variable is a plain number in the interpreter, which has no method `to`.
                return f"{file.language}.cast({program}, {file.text(node.args[0])})"
            case cst.Call():
                return {"program_id": program, "num_programs": total}.get(language_call(node, file))
            case _:
                return None

    return substitute

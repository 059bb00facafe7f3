"""`tritonkb bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.kernel_input import Constexprs, Grid, KernelName, Signature, read_kernel, sandbox_policy
from agent.cli.options import Session
from indexer.errors import BadInput
from indexer.messages import message

Sweep = Annotated[list[str] | None, typer.Option("--sweep", metavar="NAME=VALUE,...", help="sweep.option")]
Trace = Annotated[Path | None, typer.Option("--trace", metavar="FILE", help="profile.trace_option")]
Lines = Annotated[bool, typer.Option("--lines", help="profile.lines_option")]
FileSpecs = Annotated[list[str], typer.Argument(metavar="FILE[:FUNCTION]...", help="kernel.optimize_files")]


def bench(
    session: Session,
    files: FileSpecs,
    sweep: Sweep = None,
    trace: Trace = None,
    lines: Lines = False,  # noqa: FBT002 - a flag of the command
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
) -> int:
    """Cost kernels as they are; exit 1 when one does not compile."""
    from agent.app import bench_kernels, sweep_kernels  # noqa: PLC0415 - heavy, and not for --help
    from agent.report.terminal import Terminal  # noqa: PLC0415
    from agent.request import Site  # noqa: PLC0415
    from agent.sweeping import read_axes  # noqa: PLC0415

    sources = [read_kernel(file, kernel, signature, constexpr, grid) for file in files]
    site = Site(session.settings.target, sandbox_policy(session), None, session.output.lang)
    if sweep and trace is not None:
        raise BadInput("sweep.no_trace")
    doc = sweep_kernels(site, sources, read_axes(sweep)) if sweep else bench_kernels(site, sources, trace)
    texts = {str(source.path): source.text for source in sources} if lines else None
    session.output.answer(doc.to_json(), lambda console: Terminal(console, session.output.lang).bench(doc, texts))
    for failure in doc.failures:
        session.output.complain(message("kernel.of_file", file="", note=failure.message))
    if doc.failures:
        return doc.failures[0].exit_code
    if doc.sweep:
        return 0 if any(item.cost is not None for item in doc.sweep) else 1
    return 0 if all(item.cost is not None for item in doc.kernels) else 1

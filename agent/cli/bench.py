"""`tritonkb bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from agent.cli.kernel_input import Constexprs, Grid, KernelName, Signature, read_kernel, sandbox_policy
from agent.cli.options import Session
from indexer.messages import message

FileSpecs = Annotated[list[str], typer.Argument(metavar="FILE[:FUNCTION]...", help="kernel.optimize_files")]


def bench(
    session: Session,
    files: FileSpecs,
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
) -> int:
    """Cost kernels as they are; exit 1 when one does not compile."""
    from agent.app import bench_kernels  # noqa: PLC0415 - heavy, and not for --help
    from agent.report.terminal import Terminal  # noqa: PLC0415
    from agent.request import Site  # noqa: PLC0415

    sources = [read_kernel(file, kernel, signature, constexpr, grid) for file in files]
    site = Site(session.settings.target, sandbox_policy(session), None, session.output.lang)
    doc = bench_kernels(site, sources)
    session.output.answer(doc.to_json(), lambda console: Terminal(console, session.output.lang).bench(doc))
    for failure in doc.failures:
        session.output.complain(message("kernel.of_file", file="", note=failure.message))
    if doc.failures:
        return doc.failures[0].exit_code
    return 0 if all(item.cost is not None for item in doc.kernels) else 1

"""`tritonkb compile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli.kernel_input import Constexprs, FileSpec, Grid, KernelName, Signature, read_kernel, sandbox_policy
from agent.cli.options import Session


def compile_file(
    session: Session,
    file: FileSpec,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="kernel.compile_out")] = None,
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
) -> int:
    """Lower a kernel; exit 1 when the compiler rejects it."""
    from agent.app import compile_kernel  # noqa: PLC0415 - heavy, and not for --help
    from agent.report.terminal import Terminal  # noqa: PLC0415
    from agent.request import Site  # noqa: PLC0415

    source = read_kernel(file, kernel, signature, constexpr, grid)
    site = Site(session.settings.target, sandbox_policy(session), None, session.output.lang)
    doc = compile_kernel(site, source, out)
    folder = str(out) if out is not None else ""
    session.output.answer(doc.to_json(), lambda console: Terminal(console, session.output.lang).compile(doc, folder))
    taken = all(own.status == "ok" for own in doc.targets or [doc])
    return 0 if taken else 1

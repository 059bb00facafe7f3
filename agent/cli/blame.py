"""`tritonkb blame`."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from agent.cli.kernel_input import (
    Constexprs,
    Grid,
    KernelName,
    Signature,
    open_library_if_built,
    read_kernel,
    sandbox_policy,
)
from agent.cli.options import Session

BlameSpec = Annotated[str, typer.Argument(metavar="FILE[:LINE]", help="kernel.blame_file")]
PassByPass = Annotated[bool, typer.Option("--pass-by-pass", help="kernel.pass_by_pass")]
_LINE = re.compile(r"^(?P<path>.+):(?P<line>\d+)$")


def blame(
    session: Session,
    file: BlameSpec,
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
    *,
    pass_by_pass: PassByPass = False,
) -> int:
    """Show what each line became."""
    from agent.app import blame_kernel  # noqa: PLC0415 - heavy, and not for --help
    from agent.report.blame import show_blame  # noqa: PLC0415
    from agent.report.terminal import Terminal  # noqa: PLC0415
    from agent.request import Site  # noqa: PLC0415

    found = _LINE.match(file)
    source = read_kernel(found["path"] if found else file, kernel, signature, constexpr, grid)
    library = open_library_if_built(session)
    site = Site(session.settings.target, sandbox_policy(session), library, session.output.lang)
    doc = blame_kernel(site, source, int(found["line"]) if found else None, pass_by_pass=pass_by_pass)
    session.output.answer(doc.to_json(), lambda console: show_blame(Terminal(console, session.output.lang), doc))
    return 0

"""`tritonkb diagnose`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from agent.cli.kernel_input import (
    Constexprs,
    FileSpec,
    Grid,
    KernelName,
    Signature,
    open_library_if_built,
    read_kernel,
    sandbox_policy,
)
from agent.cli.options import Session
from indexer.errors import BadInput

MaxRung = Annotated[Literal["pattern", "profile", "ir", "source"], typer.Option("--max-rung", help="kernel.max_rung")]
Counterfactuals = Annotated[
    int | None, typer.Option("--counterfactuals", metavar="N", min=0, help="kernel.counterfactuals")
]
Bundle = Annotated[Path | None, typer.Option("--bundle", metavar="DIR", help="bundle.option")]
Profile = Annotated[Path | None, typer.Option("--profile", metavar="DIR", help="profile.option")]
Run = Annotated[Literal["msprof", "ncu", "proton"] | None, typer.Option("--run-profiler", help="profile.run_option")]


def diagnose(
    session: Session,
    file: FileSpec,
    max_rung: MaxRung = "source",
    counterfactuals: Counterfactuals = None,
    bundle: Bundle = None,
    profile: Profile = None,
    run_profiler: Run = None,
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
) -> int:
    """Climb the ladder; exit 1 when the compiler rejects the kernel."""
    from agent.app import diagnose_kernel  # noqa: PLC0415 - heavy, and not for --help
    from agent.report.terminal import Terminal  # noqa: PLC0415
    from agent.request import Site  # noqa: PLC0415

    source = read_kernel(file, kernel, signature, constexpr, grid)
    if run_profiler is not None:
        _profile(run_profiler, source.path, profile)
    library = open_library_if_built(session)
    site = Site(session.settings.target, sandbox_policy(session), library, session.output.lang)
    doc = diagnose_kernel(site, source, max_rung, counterfactuals, bundle, profile)
    session.output.answer(doc.to_json(), lambda console: Terminal(console, session.output.lang).diagnose(doc))
    taken = all(own.status == "ok" for own in doc.targets or [doc])
    return 0 if taken else 1


def _profile(name: Literal["msprof", "ncu", "proton"], file: Path, out: Path | None) -> None:
    """Run a profiler with the Python that started this command: it is the one that has the device's torch."""
    from agent.profile.running import run_profiler  # noqa: PLC0415 - only where asked for

    if out is None:
        raise BadInput("profile.run_where")
    run_profiler(name, file, out, sys.executable)

"""`tritonkb optimize`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.bench import FileSpecs
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
from indexer.errors import BadInput
from indexer.messages import message

if TYPE_CHECKING:
    from agent.app import Run
    from agent.contract import OptimizeDoc, RoundDoc
    from agent.loop import Goal
    from agent.records import KernelSource
    from agent.report.terminal import Terminal

OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="kernel.out")]
ResumeFolder = Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="kernel.resume")]
TargetSpeedup = Annotated[float | None, typer.Option("--target-speedup", metavar="X", help="kernel.target_speedup")]


def optimize(
    session: Session,
    files: FileSpecs,
    rounds: Annotated[int, typer.Option("--rounds", help="kernel.rounds")] = 12,
    target_speedup: TargetSpeedup = None,
    out: OutFolder = None,
    resume: ResumeFolder = None,
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
) -> int:
    """Optimise kernels; exit 1 when nothing is kept for one of them."""
    from agent.app import Site, optimize_kernels  # noqa: PLC0415 - heavy, and not for --help
    from agent.loop import Goal  # noqa: PLC0415
    from agent.report.terminal import Terminal  # noqa: PLC0415

    _check(files, rounds, out, resume)
    sources = [read_kernel(file, kernel, signature, constexpr, grid) for file in files]
    library = open_library_if_built(session)
    site = Site(session.settings.target, sandbox_policy(session), library, session.output.lang)
    runs = _plan(sources, site.target, Goal(rounds, target_speedup), out, resume)

    def on_start(run: Run) -> None:
        told = {"file": run.source.path, "target": site.target, "folder": run.folder}
        session.output.way_on = message("kernel.way_on", **told)
        session.output.progress(message("kernel.working", **told))

    def on_round(entry: RoundDoc) -> None:
        name = entry.rewrite.name if entry.rewrite is not None else "-"
        symptom = entry.rewrite.symptom if entry.rewrite is not None else "-"
        verdict = message(f"report.verdict_{entry.verdict}")
        session.output.progress(message("report.round", n=entry.n, name=name, symptom=symptom, verdict=verdict))

    docs = optimize_kernels(site, runs, on_start, on_round)
    document = docs[0].to_json() if len(docs) == 1 else {"runs": [doc.to_json() for doc in docs]}
    session.output.answer(document, lambda console: _show(Terminal(console, session.output.lang), docs))
    return 0 if all(doc.best.round for doc in docs) else 1


def _show(terminal: Terminal, docs: list[OptimizeDoc]) -> None:
    for doc in docs:
        terminal.optimize(doc)


def _check(files: list[str], rounds: int, out: Path | None, resume: Path | None) -> None:
    if rounds < 1:
        raise BadInput("kernel.bad_rounds", value=rounds)
    if resume is not None and len(files) > 1:
        raise BadInput("kernel.resume_one", count=len(files))
    if resume is not None and out is not None:
        raise BadInput("kernel.resume_or_out", folder=resume)


def _plan(sources: list[KernelSource], target: str, goal: Goal, out: Path | None, resume: Path | None) -> list[Run]:
    """Give each file its folder: the one named, or one in it when several files are optimised."""
    from agent.app import Run  # noqa: PLC0415
    from agent.loop import default_folder  # noqa: PLC0415

    runs = []
    for source in sources:
        if resume is not None:
            folder = resume
        elif out is None:
            folder = default_folder(source.path, target)
        else:
            folder = out if len(sources) == 1 else out / source.path.stem
        runs.append(Run(source, goal, folder, resume is not None))
    return runs

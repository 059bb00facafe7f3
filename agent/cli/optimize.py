"""`tritonkb optimize`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
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
from agent.jobs import Failed
from indexer.errors import BadInput
from indexer.messages import message

if TYPE_CHECKING:
    from agent.contract import OptimizeDoc
    from agent.records import KernelSource
    from agent.report.terminal import Terminal
    from agent.request import Goal, Run, RunEvent

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
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="kernel.jobs", min=0)] = 0,
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
) -> int:
    """Optimise kernels; exit 1 when nothing is kept for one of them."""
    from agent.optimizing import optimize_kernels  # noqa: PLC0415 - heavy, and not for --help
    from agent.report.terminal import Terminal  # noqa: PLC0415
    from agent.request import Goal, Site  # noqa: PLC0415

    _check(files, rounds, out, resume)
    sources = [read_kernel(file, kernel, signature, constexpr, grid) for file in files]
    library = open_library_if_built(session)
    site = Site(session.settings.target, sandbox_policy(session), library, session.output.lang, session.settings.store)
    runs = _plan(sources, site.target, Goal(rounds, target_speedup), out, resume)

    started: list[str] = []

    def on_event(event: RunEvent) -> None:
        name = event.run.source.path if len(runs) > 1 else ""
        _tell(session, event, site.target, f"{name}: " if name else "", started)

    ended = optimize_kernels(site, runs, on_event, jobs or min(len(runs), os.cpu_count() or 1))
    docs = [doc for doc in ended if not isinstance(doc, Failed)]
    documents = [_document(doc, run) for doc, run in zip(ended, runs, strict=True)]
    document = documents[0] if len(documents) == 1 else {"runs": documents}
    session.output.answer(document, lambda console: _show(Terminal(console, session.output.lang), docs))
    failures = [end.error for end in ended if isinstance(end, Failed)]
    for error in failures:
        session.output.complain(error.note)
    if failures:
        return failures[0].exit_code
    return 0 if all(doc.best.round for doc in docs) else 1


def _document(ended: OptimizeDoc | Failed, run: Run) -> dict[str, object]:
    """Give the JSON of a run, or of its error beside the file's name."""
    if isinstance(ended, Failed):
        error = {"message": ended.error.note, "exit_code": ended.error.exit_code}
        return {"file": str(run.source.path), "error": error}
    return ended.to_json()


def _tell(session: Session, event: RunEvent, target: str, prefix: str, started: list[str]) -> None:
    """Tell of an event; `started` collects how to go on with each run that was begun."""
    from agent.request import Started  # noqa: PLC0415 - see above

    if isinstance(event, Started):
        run = event.run
        told = {"file": run.source.path, "target": target, "folder": run.folder}
        started.append(f"tritonkb optimize {run.source.path} --target {target} --resume {run.folder}")
        session.output.way_on = message("kernel.way_on", commands=" ; ".join(started))
        session.output.progress(message("kernel.working", **told))
        return
    entry = event.entry
    name, symptom = (entry.rewrite.name, entry.rewrite.symptom) if entry.rewrite is not None else ("-", "-")
    verdict = message(f"report.verdict_{entry.verdict}")
    note = message("report.round", n=entry.n, name=name, symptom=symptom, verdict=verdict)
    session.output.progress(message("kernel.of_file", file=prefix, note=note))


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
    from agent.request import Run, default_folder  # noqa: PLC0415

    runs: list[Run] = []
    for source in sources:
        if resume is not None:
            folder = resume
        elif out is None:
            folder = default_folder(source.path, target)
        else:
            folder = out if len(sources) == 1 else out / source.path.stem
        taken = {run.folder for run in runs}
        folder = next(f for f in _names(folder) if f not in taken)
        runs.append(Run(source, goal, folder, resume is not None))
    return runs


def _names(folder: Path) -> Iterator[Path]:
    """Yield a folder's name, then the same with -2, -3, …: two files may have one name."""
    yield folder
    yield from (folder.with_name(f"{folder.name}-{number}") for number in count(2))

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
from agent.ladder import ROUNDS, Ladder
from indexer.crew import check_jobs
from indexer.errors import BadInput
from indexer.messages import message

if TYPE_CHECKING:
    from rich.console import Console

    from agent.contract import OptimizeDoc
    from agent.contract_run import SummaryDoc
    from agent.llm.records import Request
    from agent.records import KernelSource
    from agent.report.terminal import Terminal
    from agent.request import Goal, ModelRequest, Run, RunEvent, Site

# What `--jobs` says for as many files at a time as there are cores, as leaving it out does.
ALL_CORES = "0"
# Tokens that a model may take for one file; a round of a small kernel takes ten to thirty thousand.
MODEL_TOKENS = 400_000

OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="kernel.out")]
ResumeFolder = Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="kernel.resume")]
TargetSpeedup = Annotated[float | None, typer.Option("--target-speedup", metavar="X", help="kernel.target_speedup")]
LadderName = Annotated[Ladder, typer.Option("--ladder", help="kernel.ladder")]
Jobs = Annotated[str, typer.Option("--jobs", metavar="N|ray[://HOST:PORT]", help="kernel.jobs")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="kernel.dry_run")]
ModelTokens = Annotated[int, typer.Option("--model-tokens", metavar="N", help="kernel.model_tokens", min=1)]
ReplayFile = Annotated[Path | None, typer.Option("--replay", metavar="FILE", help="kernel.replay")]


def optimize(
    session: Session,
    files: FileSpecs,
    rounds: Annotated[int, typer.Option("--rounds", help="kernel.rounds")] = ROUNDS,
    target_speedup: TargetSpeedup = None,
    out: OutFolder = None,
    resume: ResumeFolder = None,
    jobs: Jobs = "",
    ladder: LadderName = "full",
    dry_run: DryRun = False,  # noqa: FBT002 - a flag of the command
    model_tokens: ModelTokens = MODEL_TOKENS,
    replay: ReplayFile = None,
    kernel: KernelName = "",
    signature: Signature = "",
    constexpr: Constexprs = None,
    grid: Grid = "",
) -> int:
    """Optimise kernels; exit 1 when nothing is kept for one of them."""
    from agent.optimizing import optimize_kernels  # noqa: PLC0415 - heavy, and not for --help
    from agent.report.terminal import Terminal  # noqa: PLC0415
    from agent.request import Goal, Site  # noqa: PLC0415
    from agent.summary import summarize  # noqa: PLC0415

    _check(files, rounds, out, resume)
    check_jobs("" if jobs == ALL_CORES else jobs)
    sources = [read_kernel(file, kernel, signature, constexpr, grid) for file in files]
    asked = _model(session, model_tokens, replay, dry_run=dry_run)
    if asked is not None and not dry_run:
        _announce(session, asked, ladder)
    library = open_library_if_built(session)
    settings = session.settings
    site = Site(settings.target, sandbox_policy(session), library, session.output.lang, settings.store, asked)
    runs = _plan(sources, site.target, Goal(rounds, target_speedup, ladder), out, resume)
    if dry_run:
        return _show_requests(session, site, runs)

    teller = _Teller(session, site, len(runs) > 1)
    most = str(min(len(runs), os.cpu_count() or 1))
    ended = optimize_kernels(site, runs, teller.tell, most if jobs in {"", ALL_CORES} else jobs)
    docs = [doc for doc in ended if not isinstance(doc, Failed)]
    failures = [end.error for end in ended if isinstance(end, Failed)]
    documents = [_document(doc, run) for doc, run in zip(ended, runs, strict=True)]
    summary = summarize(docs, len(failures)) if len(runs) > 1 else None
    whole = documents[0] if summary is None else {"runs": documents, "summary": summary.to_json()}
    session.output.answer(whole, lambda console: _show(Terminal(console, session.output.lang), docs, summary))
    for error in failures:
        session.output.complain(error.note)
    if failures:
        return failures[0].exit_code
    return 0 if all(doc.best.round for doc in docs) else 1


def _model(session: Session, tokens: int, replay: Path | None, *, dry_run: bool) -> ModelRequest | None:
    """Return the model that the user named, None where none is: a key in the environment is no consent."""
    from agent.request import ModelRequest, Price  # noqa: PLC0415 - see above

    settings = session.settings
    if not settings.model:
        if dry_run or replay is not None:
            raise BadInput("kernel.needs_model", option="--dry-run" if dry_run else "--replay")
        return None
    price = None
    if settings.price_prompt is not None or settings.price_completion is not None:
        price = Price(settings.price_prompt or 0.0, settings.price_completion or 0.0, settings.price_currency)
    return ModelRequest(settings.model, tokens, price=price, replay=replay)


def _announce(session: Session, asked: ModelRequest, ladder: Ladder) -> None:
    """Say before anything else where what goes."""
    from agent.llm.endpoint import open_endpoint  # noqa: PLC0415 - see above

    what = message("kernel.sent_framing" if ladder == "framing-only" else "kernel.sent", ladder=ladder)
    if asked.replay is not None:
        session.output.progress(message("kernel.replaying", file=asked.replay, model=asked.name))
    else:
        session.output.progress(message("llm.sending", url=open_endpoint().shown, model=asked.name, what=what))


def _show_requests(session: Session, site: Site, runs: list[Run]) -> int:
    """Print what would be sent first for each file, and send nothing."""
    from agent.llm.endpoint import Endpoint, address  # noqa: PLC0415 - see above
    from agent.optimizing import first_request  # noqa: PLC0415 - see above

    model = site.model.name if site.model is not None else ""
    told = {"sent": False, "url": Endpoint(address(), "").shown, "model": model}
    requests = [first_request(site, run) for run in runs]
    documents = [
        {**told, "file": str(run.source.path), "system": request.system, "user": request.user}
        for run, request in zip(runs, requests, strict=True)
    ]
    document: dict[str, object] = documents[0] if len(documents) == 1 else {"requests": documents}
    session.output.answer(document, lambda console: _show_texts(console, requests))
    return 0


def _show_texts(console: Console, requests: list[Request]) -> None:
    for request in requests:
        console.print(f"{request.system}\n\n{request.user}", markup=False, highlight=False, soft_wrap=True)


def _document(ended: OptimizeDoc | Failed, run: Run) -> dict[str, object]:
    """Give the JSON of a run, or of its error beside the file's name."""
    if isinstance(ended, Failed):
        error = {"message": ended.error.note, "exit_code": ended.error.exit_code}
        return {"file": str(run.source.path), "error": error}
    return ended.to_json()


class _Teller:
    """Tells on stderr what runs do; it collects how each that was begun can be gone on with."""

    def __init__(self, session: Session, site: Site, several: bool) -> None:  # noqa: FBT001 - the one caller counts
        self.output = session.output
        self.site = site
        self.several = several
        self.ways: list[str] = []

    def tell(self, event: RunEvent) -> None:
        """Tell of an event."""
        from agent.report.summary import round_note  # noqa: PLC0415 - see above
        from agent.request import ModelWrites, Started  # noqa: PLC0415 - see above

        if isinstance(event, Started):
            self._started(event.run)
            return
        prefix = f"{event.run.source.path}: " if self.several else ""
        if isinstance(event, ModelWrites):
            note = message("kernel.model_writes", characters=event.characters)
        else:
            note = round_note(event.entry)
        self.output.progress(message("kernel.of_file", file=prefix, note=note))

    def _started(self, run: Run) -> None:
        words = ["tritonkb optimize", str(run.source.path), f"--target {self.site.target}", f"--resume {run.folder}"]
        if self.site.model is not None:
            words.append(f"--model {self.site.model.name}")
        if run.goal.ladder != "full":
            words.append(f"--ladder {run.goal.ladder}")
        self.ways.append(" ".join(words))
        self.output.way_on = message("kernel.way_on", commands=" ; ".join(self.ways))
        self.output.progress(
            message("kernel.working", file=run.source.path, target=self.site.target, folder=run.folder)
        )


def _show(terminal: Terminal, docs: list[OptimizeDoc], summary: SummaryDoc | None) -> None:
    from agent.report.summary import show_summary  # noqa: PLC0415 - see above

    for doc in docs:
        terminal.optimize(doc)
    if summary is not None:
        show_summary(terminal, summary, docs)


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

"""Optimising one file or several: one in this process, several at once in processes of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from agent.contract import OptimizeDoc, RoundDoc
from agent.jobs import Failed, run_apart
from agent.knowledge import Library, open_library
from agent.request import ModelWrites, RoundEnded, Run, RunEvent, Site, Started
from indexer.crew import RAY, hire
from indexer.errors import BadInput, TritonkbError

if TYPE_CHECKING:
    from agent.journal import Journal
    from agent.llm.records import Request, Send
    from agent.memory import Memory
    from agent.propose.model import ModelProposer
    from agent.workbench import Workbench

Tell = Callable[[RunEvent], None]
Optimize = Callable[[Run, Tell], OptimizeDoc]
# How many characters of an answer come between two notes of progress.
NOTED_CHARACTERS = 500


def optimize_kernels(
    site: Site, runs: list[Run], on_event: Callable[[RunEvent], None], jobs: str = "1"
) -> list[OptimizeDoc | Failed]:
    """Optimise each file, `jobs` at a time or on a Ray cluster; `on_event` is told of each start and finished round.

    A single run raises its error; of several, one that fails leaves the others alone.
    """
    if len(runs) == 1 and not jobs.startswith(RAY):
        with open_optimizer(site, cites=False) as optimize:
            return [optimize(runs[0], on_event)]
    # A process of its own opens the index again: an open one does not travel.
    apart, cites = dataclasses.replace(site, library=None), site.library is not None
    if jobs.startswith(RAY):
        return _on_cluster(apart, runs, on_event, jobs, cites=cites)
    return run_apart(partial(open_optimizer, apart, cites=cites), runs, min(int(jobs), len(runs)), on_event)


def _on_cluster(
    site: Site, runs: list[Run], on_event: Callable[[RunEvent], None], jobs: str, *, cites: bool
) -> list[OptimizeDoc | Failed]:  # fmt: skip
    """Optimise each file on a node of a Ray cluster, whose nodes share the folders; rounds are told as runs end."""
    crew = hire(jobs)
    ended: list[OptimizeDoc | Failed] = []
    try:
        for run in runs:
            on_event(Started(run))
        for run, end in zip(runs, crew.map(partial(_on_node, site, cites), runs), strict=True):
            ended.append(end)
            for entry in end.rounds if isinstance(end, OptimizeDoc) else ():
                on_event(RoundEnded(run, entry))
    finally:
        crew.close()
    return ended


def _on_node(site: Site, cites: bool, run: Run) -> OptimizeDoc | Failed:  # noqa: FBT001 - it is bound by name order
    try:
        with open_optimizer(site, cites=cites) as optimize:
            return optimize(run, lambda _event: None)
    except TritonkbError as error:
        return Failed(error)


@contextmanager
def open_optimizer(site: Site, *, cites: bool) -> Iterator[Optimize]:
    """Open a workbench and give the function that optimises at it; `cites` opens the index of the site's store."""
    # Imported here: the process that only waits for others does not pay for the compilers' side.
    from agent.toolchain.targets import find_device  # noqa: PLC0415
    from agent.workbench import open_workbench  # noqa: PLC0415

    with open_workbench(find_device(site.target), site.policy) as bench:
        bench.worker.start_early()
        # Meanwhile: LibCST and the index take as long to load here as torch there.
        from agent.journal import Journal  # noqa: PLC0415
        from agent.loop import Help, Optimizer  # noqa: PLC0415
        from agent.verify.check import Verifier  # noqa: PLC0415

        library = open_library(site.store) if cites else site.library

        def optimize(run: Run, tell: Tell) -> OptimizeDoc:
            def on_round(entry: RoundDoc) -> None:
                tell(RoundEnded(run, entry))

            tell(Started(run))
            journal = Journal(run.folder)
            memory = _memory(site, library, bench, journal.start().lessons if run.resume else None)
            helping = Help(library, _proposer(site, run, library, bench, journal, tell), memory)
            # What the original makes of each case is computed once a run.
            with Verifier(bench) as verifier:
                optimizer = Optimizer(bench, verifier, helping, journal, site.lang, on_round)
                return optimizer.run(run.source, run.goal, resume=run.resume)

        yield optimize


def first_request(site: Site, run: Run) -> Request:
    """Return what the model that is named would be sent first, and send nothing."""
    from agent.journal import Journal  # noqa: PLC0415 - as above
    from agent.llm.endpoint import Endpoint, address  # noqa: PLC0415
    from agent.loop import Help, Optimizer  # noqa: PLC0415
    from agent.toolchain.targets import find_device  # noqa: PLC0415
    from agent.verify.check import Verifier  # noqa: PLC0415
    from agent.workbench import open_workbench  # noqa: PLC0415

    with open_workbench(find_device(site.target), site.policy) as bench, Verifier(bench) as verifier:
        model = _asking(site, run, site.library, bench, Endpoint(address(), ""))
        helping = Help(site.library, model, _memory(site, site.library, bench, None))
        optimizer = Optimizer(bench, verifier, helping, Journal(run.folder), site.lang, lambda _entry: None)
        return optimizer.first_request(run.source, run.goal)


def _memory(site: Site, library: Library | None, bench: Workbench, count: int | None) -> Memory | None:
    """Open what earlier runs taught; it lies beside the index, and without one there is none."""
    from agent.memory import open_memory  # noqa: PLC0415 - as above

    if library is None or not site.learns:
        return None
    store = library.index.generation.folder.parents[1]
    return open_memory(store, bench.target.arch, count)


def _proposer(
    site: Site, run: Run, library: Library | None, bench: Workbench, journal: Journal, tell: Tell
) -> ModelProposer | None:  # fmt: skip
    """Open the model that the user named; its exchanges are kept in the run's folder, and answered from there."""
    from agent.llm.endpoint import open_endpoint  # noqa: PLC0415 - as above
    from agent.llm.record import Ledger, Replay  # noqa: PLC0415

    if site.model is None:
        return None
    if site.model.replay is not None:
        model = _asking(site, run, library, bench, Ledger(Replay(site.model.replay), journal.exchanges))
        model.endpoint = str(site.model.replay)
        return model
    endpoint = open_endpoint(watch=_watching(run, tell), patient=True)
    model = _asking(site, run, library, bench, Ledger(endpoint, journal.exchanges))
    model.endpoint = endpoint.shown
    return model


def _asking(site: Site, run: Run, library: Library | None, bench: Workbench, send: Send) -> ModelProposer:
    from agent.llm.chat import Budget, Chat  # noqa: PLC0415 - as above
    from agent.llm.record import Ledger  # noqa: PLC0415
    from agent.propose.model import ModelProposer  # noqa: PLC0415

    asked = site.model
    if asked is None:
        raise BadInput("kernel.needs_model", option="--dry-run")
    chat = Chat(send, asked.name, Budget(asked.seconds, asked.tokens, asked.answer_tokens))
    if isinstance(send, Ledger):
        chat.form, chat.without = send.form, send.without
    index = library.index if library is not None else None
    return ModelProposer(chat, bench, index, site.lang, run.goal.ladder, price=asked.price)


def _watching(run: Run, tell: Tell) -> Callable[[int], None]:
    """Tell of an answer on its way, not of every piece."""
    told = 0

    def watch(characters: int) -> None:
        nonlocal told
        if characters < told or characters - told >= NOTED_CHARACTERS:
            told = characters
            tell(ModelWrites(run, characters))

    return watch

"""Optimising one file or several: one in this process, several at once in processes of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from agent.contract import OptimizeDoc, RoundDoc
from agent.jobs import Failed, run_apart
from agent.knowledge import open_library
from agent.request import RoundEnded, Run, RunEvent, Site, Started

Optimize = Callable[[Run, Callable[[RunEvent], None]], OptimizeDoc]


def optimize_kernels(
    site: Site, runs: list[Run], on_event: Callable[[RunEvent], None], jobs: int = 1
) -> list[OptimizeDoc | Failed]:
    """Optimise each file, `jobs` at a time; `on_event` is told of each start and each finished round.

    A single run raises its error; of several, one that fails leaves the others alone.
    """
    if len(runs) == 1:
        with open_optimizer(site, cites=False) as optimize:
            return [optimize(runs[0], on_event)]
    # A process of its own opens the index again: an open one does not travel.
    opening = partial(open_optimizer, dataclasses.replace(site, library=None), cites=site.library is not None)
    return run_apart(opening, runs, min(jobs, len(runs)), on_event)


@contextmanager
def open_optimizer(site: Site, *, cites: bool) -> Iterator[Optimize]:
    """Open a workbench and give the function that optimises at it; `cites` opens the index of the site's store."""
    # Imported here: the process that only waits for others does not pay for the compilers' side.
    from agent.toolchain.targets import find_target  # noqa: PLC0415
    from agent.workbench import open_workbench  # noqa: PLC0415

    with open_workbench(find_target(site.target), site.policy) as bench:
        bench.worker.start_early()
        # Meanwhile: LibCST and the index take as long to load here as torch there.
        from agent.journal import Journal  # noqa: PLC0415
        from agent.loop import Optimizer  # noqa: PLC0415
        from agent.verify.check import Verifier  # noqa: PLC0415

        library = open_library(site.store) if cites else site.library

        def optimize(run: Run, tell: Callable[[RunEvent], None]) -> OptimizeDoc:
            def on_round(entry: RoundDoc) -> None:
                tell(RoundEnded(run, entry))

            tell(Started(run))
            # What the original makes of each case is computed once a run.
            with Verifier(bench) as verifier:
                optimizer = Optimizer(bench, verifier, library, Journal(run.folder), site.lang, on_round)
                return optimizer.run(run.source, run.goal, resume=run.resume)

        yield optimize

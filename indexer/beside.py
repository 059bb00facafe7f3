"""Stages of a build that go on beside the others: in helpers of their own where there is much to do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from indexer.crew import Helper, Spent, get_ready, spent_by

Stage = Callable[[str], AbstractContextManager[None]]
# What a helper loads while it waits, by stage.
_LOADED = {
    "prose": ("indexer.wordings",),
    "symbols": ("indexer.naming",),
    "chroma": ("chromadb_rust_bindings", "indexer.chroma"),
}


class Beside(AbstractContextManager["Beside"]):
    """Runs each of these stages in its helper, else (few passages) in a thread; `stage` measures it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._helpers: dict[str, Helper] = {}
        self._pool = ThreadPoolExecutor(len(_LOADED))

    def hire(self) -> None:
        """Start the helpers, so that they are ready when their work is."""
        if not self._helpers:
            get_ready()
            self._helpers = {stage: Helper(*modules) for stage, modules in _LOADED.items()}

    def begin(
        self, stage: str, work: Callable[..., None], *arguments: Any, tick: Callable[[int], None] | None = None
    ) -> Future[None]:
        """Begin `work(*arguments)`, with `tick` as one more argument where it is given."""
        helper = self._helpers.get(stage)

        def do() -> None:
            with self._stage(stage):
                if helper is not None:
                    helper.do(work, *arguments, tick=tick)
                else:
                    work(*arguments, *([tick] if tick is not None else []))

        return self._pool.submit(do)

    @property
    def hired(self) -> bool:
        """Tell whether there are helpers."""
        return bool(self._helpers)

    @property
    def spent(self) -> Spent:
        """Return what the helpers took together."""
        return spent_by(self._helpers.values())

    def __exit__(self, *_error: object) -> None:
        for helper in self._helpers.values():
            helper.close()
        self._pool.shutdown(cancel_futures=True)

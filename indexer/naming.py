"""Names and links of a whole generation, computed beside the other stages."""

from __future__ import annotations

from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager
from multiprocessing import get_context
from pathlib import Path

from indexer.graph.links import link_passages
from indexer.shelf import Shelf, editing
from indexer.symbols import name_passages

# Fewer passages are named in less time than a process needs to start.
PROCESS_PASSAGES = 5_000


def name_shelf(path: Path) -> None:
    """Write the names and links of all passages of an unfinished generation's shelf."""
    shelf = Shelf(path)
    passages = [row.passage for row in shelf.everything()]
    shelf.close()
    namings = name_passages(passages)
    with editing(path) as writer:
        writer.set_names(namings, link_passages(passages, namings))


class Naming(AbstractContextManager["Naming"]):
    """Names a shelf in a process of its own where it is large, else when `result` is asked for."""

    def __init__(self, path: Path, passages: int) -> None:
        self._path = path
        # Spawned, not forked: this process has threads and holds the writer's lock.
        self._pool = ProcessPoolExecutor(1, get_context("spawn")) if passages >= PROCESS_PASSAGES else None
        self._future: Future[None] | None = self._pool.submit(name_shelf, path) if self._pool else None

    def result(self) -> None:
        """Wait until it is done; raises what stopped it."""
        if self._future is None:
            name_shelf(self._path)
        else:
            self._future.result()

    def __exit__(self, *_error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

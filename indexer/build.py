"""An index is brought to what its trees are now: what there is to do, and what was done.

What makes a new generation is loaded only where there is one to make (`indexer.making`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from indexer.crew import peak_mib
from indexer.embed import Embedder
from indexer.history import HISTORY_VERSION
from indexer.lexical import WORDS_VERSION
from indexer.messages import Message
from indexer.reading import Job, Progress
from indexer.records import SYMBOLS_VERSION
from indexer.shelf import Shelf, Tally
from indexer.store import CorpusMark, Holder, check_files, current_folder, read_store_manifest, tidy, writing

# The current generation, and the one before it to compare with.
KEPT_GENERATIONS = 2
# With these, what an earlier generation counted and named holds for this one.
PARTS = {"words": WORDS_VERSION, "symbols": SYMBOLS_VERSION, "history": HISTORY_VERSION}


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that was read by windows of lines (its grammar gave up), or not at all."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """What became of one corpus; `changed` counts passages that the index did not have."""

    name: str
    commit: str
    files: int
    passages: int
    changed: int
    failures: tuple[Failure, ...]
    tally: tuple[Tally, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A corpus that could not be read again, and stays in the index as it is."""

    name: str
    reason: Message


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build: corpora, seconds by stage, texts embedded anew.

    `peak_mib` is the most memory that this process and its helpers held at once, at most (their peaks together).
    `resumed` counts the vectors that an earlier build had made before it was stopped; `unchanged` tells that there was
    nothing to do.
    """

    store: Path
    corpora: tuple[CorpusReport, ...]
    seconds: dict[str, float]
    peak_mib: int
    embedded: int
    resumed: int = 0
    unchanged: bool = False
    # Stages run beside each other, so that this is less than their sum.
    total_seconds: float = 0.0
    # Of this process and its helpers on this machine.
    processor_seconds: float = 0.0
    kept: tuple[Kept, ...] = ()


@dataclass(frozen=True, slots=True)
class Manner:
    """How to build: from nothing, waiting so long for another writer, keeping so many generations.

    `drop` are corpora that are taken out of the index.
    `jobs` names the helpers, as `--jobs` does; by default each core cuts files.
    """

    fresh: bool = False
    wait_seconds: float = 10.0
    keep: int = KEPT_GENERATIONS
    waiting: Callable[[Holder], None] = lambda _: None
    jobs: str = ""
    drop: tuple[str, ...] = ()


DEFAULT_MANNER = Manner()


def build_index(
    store: Path, jobs: Sequence[Job], embedder: Embedder, progress: Progress, manner: Manner = DEFAULT_MANNER
) -> BuildReport:
    """Index `jobs` into `store`; corpora already there stay, unless the manner is fresh.

    The new index is invisible until complete. Raises `StoreError` when another process writes or the disk refuses;
    the old index is then as it was.
    """
    begin = time.perf_counter()
    if not (manner.fresh or manner.drop) and (same := _if_unchanged(store, jobs, embedder)) is not None:
        tidy(store)
        seconds = round(time.perf_counter() - begin, 3)
        return BuildReport(store, same, {"read": seconds}, peak_mib(), 0, unchanged=True, total_seconds=seconds)
    from indexer.making import Making  # noqa: PLC0415 - mostly nothing has changed, and then its loading is most of it

    with writing(store, wait_seconds=manner.wait_seconds, waiting=manner.waiting):
        report = Making(store, embedder, progress, manner).run(jobs)
    return dataclasses.replace(report, total_seconds=round(time.perf_counter() - begin, 3))


def _if_unchanged(store: Path, jobs: Sequence[Job], embedder: Embedder) -> tuple[CorpusReport, ...] | None:
    """Return the report of an index that already holds the jobs' trees, None where something is to be done.

    Raises `StoreError` for one whose files are not whole.
    """
    folder = current_folder(store)
    if folder is None:
        return None
    made = read_store_manifest(folder)
    marks = {mark.name: mark for mark in made.corpora}
    if (made.model, made.versions, made.parts) != (embedder.model, embedder.versions, PARTS):
        return None
    if not all(is_held(marks.get(job.tree.corpus.name), job) for job in jobs):
        return None
    shelf = Shelf(folder / "passages.sqlite")
    try:
        reports = corpus_reports(made.corpora, {}, shelf)
    finally:
        shelf.close()
    # What cannot be read is not unchanged.
    check_files(folder, sum(t.passages for report in reports for t in report.tally))
    return reports


def is_held(mark: CorpusMark | None, job: Job) -> bool:
    """Tell whether an index with this mark has the job's tree as it is."""
    corpus = job.tree.corpus
    wanted = (corpus.commit, corpus.origin, job.source, stamp_of(job))
    return mark is not None and (mark.commit, mark.origin, mark.source, mark.stamp) == wanted


def stamp_of(job: Job) -> str:
    """Return what decides the passages of a corpus besides its commit: the chunker and all that the manifest says."""
    return f"{job.stamp}.{hashlib.sha256(repr(job.manifest).encode()).hexdigest()[:16]}"


def corpus_reports(marks: Sequence[CorpusMark], changed: dict[str, int], shelf: Shelf) -> tuple[CorpusReport, ...]:
    """Return what has become of each corpus; `changed` counts the new passages by corpus."""
    tally = shelf.tally()
    return tuple(
        CorpusReport(
            mark.name, mark.commit, mark.files, mark.passages, changed.get(mark.name, 0),
            tuple(Failure(f.path, f.failure) for f in shelf.files(mark.name).values() if f.failure),
            tuple(t for t in tally if t.corpus == mark.name),
        )
        for mark in marks
    )  # fmt: skip

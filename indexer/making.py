"""A new generation of the index. What did not change is neither cut, counted nor embedded again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import numpy.typing as npt

from indexer.arrays import mapped
from indexer.beside import Beside
from indexer.build import PARTS, BuildReport, Manner, corpus_reports, is_held, stamp_of
from indexer.chroma import ChromaItem, write_chroma
from indexer.corpus import Manifest, read_manifest
from indexer.crew import Crew, Hired, peak_mib
from indexer.embed import Embedder
from indexer.history import HISTORY_VERSION
from indexer.lexical import WORDS_VERSION
from indexer.naming import name_shelf
from indexer.reading import UNREAD, Job, Progress, Reading, read_corpus, unread
from indexer.records import SYMBOLS_VERSION, Passage
from indexer.repair import damaged
from indexer.shelf import Shelf, begin_shelf, editing
from indexer.store import (
    COLUMNS,
    CorpusMark,
    StoreManifest,
    current_folder,
    generations,
    new_generation,
    read_store_manifest,
)
from indexer.vectors import Embedded, fill_vectors
from indexer.wordings import write_body, write_prose

# An old id resolves through this many updates of its corpus.
KEPT_COMMITS = 8
# Fewer passages are named, and brought to Chroma, in less time than a helper needs to start.
HELPED_PASSAGES = 5_000


class Making:
    """One build: from the trees to the generation that readers open next."""

    def __init__(self, store: Path, embedder: Embedder, progress: Progress, manner: Manner) -> None:
        self.store = store
        self.embedder = embedder
        self.progress = progress
        self.manner = manner
        self.seconds: dict[str, float] = {}
        self.vectors = Embedded(0, 0)
        self.began = time.process_time()
        self.old = None if manner.fresh else current_folder(store)
        self.made = read_store_manifest(self.old) if self.old is not None else None
        self.stopped = bool(generations(store).unfinished)

    def run(self, jobs: Sequence[Job]) -> BuildReport:
        """Make the generation; the lock must be held."""
        with (
            new_generation(self.store, keep=self.manner.keep) as folder,
            Hired(self.manner.jobs) as hired,
            Beside(self._stage) as beside,
        ):
            if self.made is not None and sum(mark.passages for mark in self.made.corpora) >= HELPED_PASSAGES:
                beside.hire()
            readings = self._read(jobs, hired.crew)
            if not self.manner.jobs:
                hired.release()
            marks = self._write(folder, readings, beside, hired)
            shelf = Shelf(folder / "passages.sqlite")
            try:
                reports = corpus_reports(marks, {r.job.tree.corpus.name: r.changed for r in readings}, shelf)
            finally:
                shelf.close()
        seconds = {name: round(value, 3) for name, value in self.seconds.items()}
        peak = peak_mib() + max(hired.spent.peak_mib, beside.spent.peak_mib)
        took = time.process_time() - self.began + hired.spent.seconds + beside.spent.seconds
        resumed = self.vectors.reused if self.stopped else 0
        return BuildReport(
            self.store, reports, seconds, peak, self.vectors.embedded, resumed, processor_seconds=round(took, 3)
        )

    def _read(self, jobs: Sequence[Job], crew: Crew) -> list[Reading]:
        marks = {mark.name: mark for mark in self.made.corpora} if self.made is not None else {}
        with self._stage("read"):
            shelf = Shelf(self.old / "passages.sqlite") if self.old is not None else None
            try:
                told = self._holds("history", HISTORY_VERSION)
                return [
                    unread(job, shelf, told=told)
                    if shelf is not None and is_held(marks.get(job.tree.corpus.name), job)
                    else read_corpus(job, shelf, self.progress, crew)
                    for job in jobs
                ]
            finally:
                if shelf is not None:
                    shelf.close()

    def _write(self, folder: Path, readings: Sequence[Reading], beside: Beside, hired: Hired) -> tuple[CorpusMark, ...]:
        with self._stage("passages"):
            source = self._write_passages(folder / "passages.sqlite", readings)
            shelf = Shelf(folder / "passages.sqlite")
            marks = self._marks(readings, shelf)
            manifests = {r.job.tree.corpus.name: r.job.manifest for r in readings}
            kinds = _write_columns(folder, shelf, [manifests.get(m.name) or read_manifest(m.name) for m in marks])
            asked = shelf.everything() if self._asks_all else shelf.rows(np.flatnonzero(source < 0).tolist())
            rows = {row.row: row.passage for row in asked}
            shelf.close()
        if len(source) >= HELPED_PASSAGES:
            beside.hire()
        worded = source if self._old_words is not None else np.full(len(source), -1, np.int64)
        told = self._old_words if self._holds("history", HISTORY_VERSION) else None
        prose = beside.begin("prose", write_prose, folder, self._old_words, worded.tolist(), told)
        named = self.old if self._holds("symbols", SYMBOLS_VERSION) else None
        names = beside.begin("symbols", name_shelf, folder, named, source.tolist()) if beside.hired else None
        with self._stage("embed"):
            self._embed(folder, rows, source, hired.crew)
        hired.release()
        chroma = self._begin_chroma(beside, folder, readings, rows, source)
        with self._stage("words"):
            self._write_words(folder, rows, worded)
        prose.result()
        (names or beside.begin("symbols", name_shelf, folder, named, source.tolist())).result()
        chroma.result()
        made = StoreManifest(self.embedder.model, self.embedder.dimension, self.embedder.versions, kinds, marks, _now(),
                             PARTS)  # fmt: skip
        made.write(folder)
        return marks

    def _write_passages(self, path: Path, readings: Sequence[Reading]) -> npt.NDArray[np.int64]:
        """Write the shelf but for its names; return for each row its number in the old one, or -1."""
        old_ids: list[int] = []
        if self.old is not None:
            shelf = Shelf(self.old / "passages.sqlite")
            old_ids = shelf.ids()
            shelf.close()
        begin_shelf(path, self.old / "passages.sqlite" if self.old is not None else None)
        free = max(old_ids, default=0) + 1
        with editing(path) as writer:
            for r in readings:
                corpus = r.job.tree.corpus
                writer.set_commit(corpus.name, r.number, corpus.commit, kept=KEPT_COMMITS)
                writer.remove(r.removed)
                writer.shift(r.shifted)
                writer.add(enumerate(r.added, free))
                free += len(r.added)
                writer.set_files(corpus.name, r.gone, r.files)
                writer.set_former(r.lost, r.moved, r.former)
                if r.history is not None:
                    writer.set_history(corpus.name, r.history)
            for name in self.manner.drop:
                writer.forget(name)
            ids = writer.number_rows()
        old_rows = {id_: row for row, id_ in enumerate(old_ids)}
        return np.asarray([old_rows.get(id_, -1) for id_ in ids], np.int64)

    def _marks(self, readings: Sequence[Reading], shelf: Shelf) -> tuple[CorpusMark, ...]:
        """Return the marks of all corpora by name: those of the jobs made now, the others as they were."""
        made = self.made.corpora if self.made is not None else ()
        marks = {mark.name: mark for mark in made if mark.name not in self.manner.drop}
        for r in readings:
            c = r.job.tree.corpus
            files = sum(f.failure not in UNREAD for f in shelf.files(c.name).values())
            passages = sum(t.passages for t in shelf.tally() if t.corpus == c.name)
            marks[c.name] = CorpusMark(
                c.name, c.origin, c.commit, c.target, r.job.source, files, passages, _now(), stamp_of(r.job)
            )
        return tuple(marks[name] for name in sorted(marks))

    def _write_words(self, folder: Path, rows: Mapping[int, Passage], source: npt.NDArray[np.int64]) -> None:
        new = [rows[row] for row in np.flatnonzero(source < 0).tolist()]
        done = 0

        def tick() -> None:
            nonlocal done
            done += 1
            if done % 100 == 0:
                self.progress("words", done, len(new))

        write_body(folder, new, self._old_words, source, tick)

    @property
    def _old_words(self) -> Path | None:
        """Return the old generation where its words hold."""
        return self.old if self._holds("words", WORDS_VERSION) else None

    def _embed(self, folder: Path, rows: Mapping[int, Passage], source: npt.NDArray[np.int64], crew: Crew) -> None:
        vectors = np.zeros((len(source), self.embedder.dimension), np.float32)
        missing = np.arange(len(source))
        if self.old is not None and self._same_model:
            kept = source >= 0
            with self._old_file("vectors.npy") as path:
                vectors[kept] = mapped(path)[source[kept]]
            missing = np.flatnonzero(~kept)
        if self.embedder.dimension:
            texts = {row: rows[row].natural for row in missing.tolist()}
            self.vectors = fill_vectors(vectors, texts, self.embedder, self.store, crew, self.progress)
        np.save(folder / "vectors.npy", vectors)

    def _holds(self, part: str, version: int) -> bool:
        """Tell whether what the old generation derived from its passages is what would be derived now."""
        return self.made is not None and self.made.parts.get(part) == version

    @property
    def _same_model(self) -> bool:
        made = self.made
        return made is not None and (made.model, made.versions) == (self.embedder.model, self.embedder.versions)

    def _begin_chroma(
        self, beside: Beside, folder: Path, readings: Sequence[Reading], rows: Mapping[int, Passage],
        source: npt.NDArray[np.int64],
    ) -> Future[None]:  # fmt: skip
        """Begin to write Chroma's collection: a copy of the old one with what changed, where the model is the same."""
        if not self.embedder.dimension:  # an index of words and symbols only
            nothing: Future[None] = Future()
            nothing.set_result(None)
            return nothing
        previous = self._chroma_before
        new = np.arange(len(source)) if previous is None else np.flatnonzero(source < 0)
        items = [
            ChromaItem(rows[row].key, row, {"corpus": rows[row].corpus, "kind": rows[row].kind}) for row in new.tolist()
        ]
        gone = [*(key for r in readings for key in r.removed_keys), *self._dropped()] if previous is not None else []
        done = 0

        def tick(count: int) -> None:
            nonlocal done
            done += count
            self.progress("chroma", done, len(items) + len(gone))

        return beside.begin("chroma", write_chroma, folder / "chroma", items, gone, previous, tick=tick)

    def _dropped(self) -> list[str]:
        """Return the keys of the passages that go with their corpus."""
        if self.old is None or not self.manner.drop:
            return []
        shelf = Shelf(self.old / "passages.sqlite")
        keys = [passage.key for name in self.manner.drop for passage in shelf.all_passages(name)]
        shelf.close()
        return keys

    @property
    def _chroma_before(self) -> Path | None:
        """Return Chroma's files of the old generation, where they hold vectors of this model."""
        folder = self.old / "chroma" if self.old is not None and self._same_model else None
        return folder if folder is not None and folder.exists() else None  # a server's generation comes without

    @property
    def _asks_all(self) -> bool:
        """Tell whether a stage needs the text of every passage, not of the new ones alone."""
        vectors = self._chroma_before is None if self.embedder.dimension else not self._same_model
        return vectors or not self._holds("words", WORDS_VERSION)

    @contextmanager
    def _old_file(self, name: str) -> Iterator[Path]:
        """Give a file of the old generation to read; raises `StoreError` when it turns out to be damaged."""
        assert self.old is not None  # noqa: S101 - asked for only where there is one
        try:
            yield self.old / name
        except (OSError, ValueError, EOFError, IndexError) as error:
            raise damaged(self.old, error) from error

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        self.progress(name, 0, 0)
        yield
        self.seconds[name] = time.perf_counter() - begin


def _write_columns(folder: Path, shelf: Shelf, manifests: Sequence[Manifest]) -> tuple[str, ...]:
    """Write what a ranking needs of every row: file and corpus numbers, kind, and whether it counts less."""
    rows = shelf.columns()
    kinds = tuple(sorted({kind for _, _, kind in rows}))
    corpora = {manifest.name: number for number, manifest in enumerate(manifests)}
    sorts = {kind: number for number, kind in enumerate(kinds)}
    files: dict[tuple[str, str], int] = {}
    damped: list[bool] = []
    for corpus, path, _ in rows:
        if (corpus, path) not in files:
            files[corpus, path] = len(files)
            damped.append(manifests[corpora[corpus]].is_damped(path))
    out = np.zeros(len(rows), COLUMNS)
    out["file"] = [files[corpus, path] for corpus, path, _ in rows]
    out["corpus"] = [corpora[corpus] for corpus, _, _ in rows]
    out["kind"] = [sorts[kind] for _, _, kind in rows]
    out["damped"] = np.asarray(damped, np.bool_)[out["file"]]
    np.save(folder / "columns.npy", out)
    return kinds


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")

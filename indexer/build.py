"""Trees -> a new generation of the index. What did not change is neither cut nor embedded again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from indexer.chroma import ChromaItem, write_chroma
from indexer.chunk import CHUNKER_VERSION, chunk_file
from indexer.corpus import MAX_FILE_BYTES, Entry, Manifest, TextTree, Tree, read_manifest
from indexer.embed import Embedder, Vectors
from indexer.errors import BadInput
from indexer.lexical import body_words, write_lexical
from indexer.records import Passage
from indexer.shelf import FileMark, FormerPlace, Shelf, write_shelf
from indexer.store import (
    COLUMNS,
    CorpusMark,
    StoreManifest,
    VectorCache,
    current_folder,
    new_generation,
    read_store_manifest,
    writing,
)
from indexer.symbols import name_passages
from indexer.words import words_of

# Stage, done, total; called often, on the building thread.
Progress = Callable[[str, int, int], None]

EMBED_BATCH = 512
# An old id resolves through this many updates of its corpus.
KEPT_COMMITS = 8


@dataclass(frozen=True, slots=True)
class Job:
    """A tree to index; `source` is what the user wrote, kept so that an update can ask again."""

    tree: Tree
    manifest: Manifest
    source: str


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


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build: corpora, seconds by stage, peak memory of the process in MiB, texts embedded anew."""

    store: Path
    corpora: tuple[CorpusReport, ...]
    seconds: dict[str, float]
    peak_mib: int
    embedded: int


@dataclass(slots=True)
class _Corpus:
    """A corpus on its way into the new generation."""

    mark: CorpusMark
    manifest: Manifest
    passages: list[Passage] = field(default_factory=list)
    files: list[FileMark] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    changed: int = 0


def build_index(
    store: Path, jobs: Sequence[Job], embedder: Embedder, progress: Progress, *, fresh: bool = False,
    wait_seconds: float = 10.0,
) -> BuildReport:  # fmt: skip
    """Index `jobs` into `store`; corpora already there stay, unless `fresh`.

    The new index is invisible until complete. Raises `StoreError` when another process writes or the disk refuses;
    the old index is then as it was.
    """
    with writing(store, wait_seconds=wait_seconds):
        return _Build(store, embedder, progress, fresh=fresh).run(jobs)


class _Build:
    def __init__(self, store: Path, embedder: Embedder, progress: Progress, *, fresh: bool) -> None:
        self.store = store
        self.embedder = embedder
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self.embedded = 0
        self.old = None if fresh else self._old_folder()
        self.old_shelf = Shelf(self.old / "passages.sqlite") if self.old is not None else None

    def _old_folder(self) -> Path | None:
        folder = current_folder(self.store)
        return folder if folder is not None and (folder / "manifest.json").exists() else None

    def run(self, jobs: Sequence[Job]) -> BuildReport:
        try:
            with new_generation(self.store) as folder:
                with self._stage("read"):
                    corpora = [*self._kept(jobs), *(self._read(job) for job in jobs)]
                corpora.sort(key=lambda c: c.mark.name)
                self._write(folder, corpora)
        finally:
            if self.old_shelf is not None:
                self.old_shelf.close()
        return BuildReport(
            self.store, tuple(_report(c) for c in corpora), {k: round(v, 3) for k, v in self.seconds.items()},
            _peak_mib(), self.embedded,
        )  # fmt: skip

    def _kept(self, jobs: Sequence[Job]) -> Iterator[_Corpus]:
        """Yield the corpora of the old generation that no job replaces."""
        if self.old is None or self.old_shelf is None:
            return
        named = {job.tree.corpus.name for job in jobs}
        for mark in read_store_manifest(self.old).corpora:
            if mark.name not in named:
                files = self.old_shelf.files(mark.name)
                passages = list(self.old_shelf.all_passages(mark.name))
                yield _Corpus(mark, read_manifest(mark.name), passages, list(files.values()))

    def _read(self, job: Job) -> _Corpus:
        corpus = job.tree.corpus
        entries = [entry for entry in job.tree.entries() if job.manifest.takes(entry.path)]
        if not entries and not isinstance(job.tree, TextTree):
            wanted = ", ".join(job.manifest.include)
            raise BadInput("index.nothing_taken", name=corpus.name, origin=corpus.origin, wanted=wanted)
        stamp = f"{CHUNKER_VERSION}.{job.manifest.digest}"
        old = self.old_shelf.files(corpus.name) if self.old_shelf is not None else {}
        same = {
            e.path for e in entries if e.path in old and (old[e.path].digest, old[e.path].chunker) == (e.digest, stamp)
        }
        mark = CorpusMark(corpus.name, corpus.origin, corpus.commit, corpus.target, job.source, 0, 0, _now())
        out = _Corpus(mark, job.manifest)
        out.files = [old[path] for path in sorted(same)]
        out.passages = list(self._unchanged(corpus.name, corpus.commit, same))
        fresh = [e for e in entries if e.path not in same]
        known = self._known_keys(corpus.name)
        for number, (entry, content) in enumerate(job.tree.read(fresh)):
            self.progress("read", number, len(fresh))
            self._cut(job, entry, content, stamp, out)
        out.changed = sum(p.key not in known for p in out.passages)
        out.passages.sort(key=lambda p: (p.path, p.start_line))
        out.mark = dataclasses.replace(mark, files=len(out.files), passages=len(out.passages))
        return out

    def _unchanged(self, corpus: str, commit: str, paths: set[str]) -> Iterator[Passage]:
        if self.old_shelf is not None and paths:
            for passage in self.old_shelf.all_passages(corpus):
                if passage.path in paths:
                    yield dataclasses.replace(passage, commit=commit)

    def _known_keys(self, corpus: str) -> set[str]:
        return {p.key for p in self.old_shelf.all_passages(corpus)} if self.old_shelf is not None else set()

    def _cut(self, job: Job, entry: Entry, content: bytes, stamp: str, out: _Corpus) -> None:
        grammar = job.manifest.grammar(entry.path)
        text = _decoded(content)
        if grammar is None or text is None:
            out.failures.append(Failure(entry.path, "binary" if text is None else "unknown"))
            return
        chunked = chunk_file(job.tree.corpus, entry.path, text, grammar, job.manifest.kind(entry.path))
        if not chunked.parsed:
            out.failures.append(Failure(entry.path, "windows"))
        out.passages += chunked.passages
        out.files.append(FileMark(job.tree.corpus.name, entry.path, entry.digest, stamp, chunked.parsed))

    def _write(self, folder: Path, corpora: Sequence[_Corpus]) -> None:
        passages = [p for corpus in corpora for p in corpus.passages]
        with self._stage("symbols"):
            namings = name_passages(passages)
        with self._stage("passages"):
            former = self._former(passages)
            write_shelf(
                folder / "passages.sqlite", passages, namings, (f for corpus in corpora for f in corpus.files), former
            )
            kinds = tuple(sorted({p.kind for p in passages}))
            np.save(folder / "columns.npy", _columns(corpora, kinds))
        with self._stage("words"):
            self._write_words(folder, passages)
        with self._stage("embed"):
            vectors = self._embed([p.natural for p in passages])
            np.save(folder / "vectors.npy", vectors)
        with self._stage("chroma"):
            self._write_chroma(folder, passages, vectors)
        marks = tuple(corpus.mark for corpus in corpora)
        StoreManifest(
            self.embedder.model, self.embedder.dimension, self.embedder.versions, kinds, marks, _now()
        ).write(folder)  # fmt: skip

    def _write_words(self, folder: Path, passages: Sequence[Passage]) -> None:
        done = 0

        def tick() -> None:
            nonlocal done
            done += 1
            if done % 500 == 0:
                self.progress("words", done, 2 * len(passages))

        write_lexical(folder / "body", (body_words(p.path, p.symbol, p.text) for p in passages), tick)
        write_lexical(folder / "natural", (words_of(p.natural) for p in passages), tick)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        model = f"{self.embedder.model} {json.dumps(self.embedder.versions, sort_keys=True)}"
        hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
        cache = VectorCache(self.store / "vectors.sqlite", model)
        try:
            vectors = np.zeros((len(texts), self.embedder.dimension), np.float32)
            missing = []
            for row, found in enumerate(cache.get(hashes)):
                if found is None:
                    missing.append(row)
                else:
                    vectors[row] = found
            for first in range(0, len(missing), EMBED_BATCH):
                rows = missing[first : first + EMBED_BATCH]
                vectors[rows] = self.embedder.embed([texts[row] for row in rows])
                cache.put([hashes[row] for row in rows], vectors[rows])
                self.progress("embed", first + len(rows), len(missing))
            self.embedded = len(missing)
            return vectors
        finally:
            cache.close()

    def _write_chroma(self, folder: Path, passages: Sequence[Passage], vectors: Vectors) -> None:
        items = [
            ChromaItem(p.key, row, {"corpus": p.corpus, "path": p.path, "kind": p.kind, "symbol": p.symbol})
            for row, p in enumerate(passages)
        ]
        done = 0

        def tick(count: int) -> None:
            nonlocal done
            done += count
            self.progress("chroma", done, len(items))

        write_chroma(folder / "chroma", items, vectors, self._old_chroma(), tick)

    def _old_chroma(self) -> Path | None:
        """Return the old collection where its vectors are of the same model."""
        if self.old is None:
            return None
        made = read_store_manifest(self.old)
        same = (made.model, made.versions) == (self.embedder.model, self.embedder.versions)
        return self.old / "chroma" if same else None

    def _former(self, passages: Sequence[Passage]) -> list[FormerPlace]:
        """Return where today's passages stood before, for the last commits of each corpus."""
        if self.old is None or self.old_shelf is None:
            return []
        today = {p.key: p.commit[:12] for p in passages}
        places = self.old_shelf.former_places()
        for mark in read_store_manifest(self.old).corpora:
            places += [
                FormerPlace(p.corpus, p.commit[:12], p.path, p.start_line, p.end_line, p.key)
                for p in self.old_shelf.all_passages(mark.name)
            ]
        alive = [place for place in places if today.get(place.key, place.commit12) != place.commit12]
        recent: dict[str, list[str]] = {}
        for place in reversed(alive):
            commits = recent.setdefault(place.corpus, [])
            if place.commit12 not in commits:
                commits.append(place.commit12)
        return [p for p in alive if p.commit12 in recent[p.corpus][:KEPT_COMMITS]]

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        self.progress(name, 0, 0)
        yield
        self.seconds[name] = time.perf_counter() - begin


def _columns(corpora: Sequence[_Corpus], kinds: tuple[str, ...]) -> np.ndarray:
    """Return what a ranking needs of every row: file and corpus numbers, kind, and whether it counts less."""
    out = np.zeros(sum(len(c.passages) for c in corpora), COLUMNS)
    files: dict[tuple[str, str], int] = {}
    row = 0
    for number, corpus in enumerate(corpora):
        for p in corpus.passages:
            file = files.setdefault((p.corpus, p.path), len(files))
            out[row] = (file, number, kinds.index(p.kind), corpus.manifest.is_damped(p.path))
            row += 1
    return out


def _report(corpus: _Corpus) -> CorpusReport:
    mark = corpus.mark
    return CorpusReport(mark.name, mark.commit, mark.files, mark.passages, corpus.changed, tuple(corpus.failures))


def _decoded(content: bytes) -> str | None:
    """Return the text of a file, None for one that is not text or too large to be hand-written."""
    if len(content) > MAX_FILE_BYTES or b"\0" in content[:8192]:
        return None
    return content.decode("utf-8", errors="replace")


def _peak_mib() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 * 1024) if sys.platform == "darwin" else peak // 1024


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")

"""The knowledge base's use cases, typed in and out: build, update, status, search, and citations with titles."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.matching import CorpusStatus, compare
from agent.sources import CorpusSpec, open_tree, parse_spec
from indexer.build import DEFAULT_MANNER, BuildReport, Kept, Manner, build_index
from indexer.corpus import Manifest, Tree, known_corpora, read_manifest
from indexer.embed import DEFAULT_EMBEDDER, load_embedder
from indexer.errors import BadInput, StoreError, ToolchainError
from indexer.home import data_home
from indexer.messages import Message
from indexer.reading import Job, Progress, taken_entries
from indexer.records import Passage, Sort
from indexer.repair import no_index
from indexer.store import CorpusMark, current_folder, read_store_manifest
from retriever.records import Hit, Query

if TYPE_CHECKING:
    from indexer.server import Mirror
    from retriever.search import Index

Tell = Callable[[Message], None]

# Made from what is installed, so that they need no network.
DEFAULT_CORPORA = ("toolchain", "notes")


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, and names like the ones asked for where nothing has them."""

    hits: tuple[Hit, ...]
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Library:
    """An opened index with what a report needs besides the hits."""

    index: Index

    def titles(self, ids: Iterable[str]) -> dict[str, str]:
        """Return a short title for each id: the symbol or heading, else the file's name."""
        return {id_: title_of(passage) for id_ in ids if (passage := self.index.passage(id_)) is not None}


def title_of(passage: Passage) -> str:
    """Return what a person would call the passage."""
    return passage.symbol.split(", ")[0] or passage.path.rsplit("/", 1)[-1]


def store_folder(store: str | Path | None) -> Path:
    """Return the folder of the index: the one named, else the one of the data folder.

    For the address of a server it is the folder that mirrors it, brought up to date. Raises `StoreError` when the
    server does not answer.
    """
    if store is None:
        return data_home() / "index"
    mirror = _mirror(store)
    return mirror.refresh() if mirror is not None else Path(store)


@contextmanager
def writable_store(store: str | Path | None, manner: Manner) -> Iterator[Path]:
    """Give the folder to build in; where the store is a server, it is published when the block ends well.

    Raises `StoreError` when the server does not answer, or another writer holds its lease.
    """
    mirror = _mirror(store) if store is not None else None
    if mirror is None:
        yield store_folder(store)
        return
    from indexer.server import leased  # noqa: PLC0415 - as below

    with leased(mirror.server, manner.wait_seconds, manner.waiting) as lease:
        yield mirror.refresh()
        mirror.publish(manner.keep, lease)


def _mirror(store: str | Path) -> Mirror | None:
    if not str(store).startswith(("http://", "https://")):
        return None
    from indexer.server import Mirror, Server  # noqa: PLC0415 - HTTP is for a server alone

    name = hashlib.sha256(str(store).rstrip("/").encode()).hexdigest()[:16]
    return Mirror(Server(str(store)), data_home() / "servers" / name)


def open_library(store: str | Path | None) -> Library:
    """Open the index; raises `StoreError` where there is none, or it is damaged."""
    from retriever.search import open_knowledge_base  # noqa: PLC0415 - the ranking; building and updating do not search

    return Library(open_knowledge_base(store_folder(store)))


def build(
    store: Path, specs: Sequence[CorpusSpec], embedder: str | None, progress: Progress, manner: Manner = DEFAULT_MANNER,
    tell: Tell = lambda _note: None,
) -> BuildReport:  # fmt: skip
    """Index the corpora; those already in the index stay, unless the manner is fresh. `tell` gets what is odd of one.

    Without a name the embedder is the one the index was made with. Raises `StoreError` when the disk, the lock or a
    repository refuses, `BadInput` for a path or revision that is not there, `ToolchainError` without the compilers.
    """
    named = Counter(spec.manifest.name for spec in dict.fromkeys(specs))
    for corpus in (corpus for corpus, times in named.items() if times > 1):
        raise BadInput("knowledge.twice", name=corpus)
    _check_dropped(store, manner.drop, named.keys())
    jobs = [Job(_opened(spec, progress, tell), spec.manifest, spec.text) for spec in dict.fromkeys(specs)]
    return _build(store, jobs, embedder, progress, manner, tell)


def _build(
    store: Path, jobs: Sequence[Job], embedder: str | None, progress: Progress, manner: Manner, tell: Tell
) -> BuildReport:
    name = embedder or (None if manner.fresh else _embedder_of(store)) or DEFAULT_EMBEDDER
    loaded = load_embedder(name)
    if loaded.notice is not None:
        tell(loaded.notice)
    return build_index(store, jobs, loaded, progress, manner)


def update(
    store: Path, embedder: str | None, progress: Progress, manner: Manner = DEFAULT_MANNER,
    tell: Tell = lambda _note: None,
) -> BuildReport:  # fmt: skip
    """Read all corpora of the index again from where they came; what did not change costs nothing.

    A corpus whose source is gone stays as it is, and is named in the report's `kept`.
    """
    folder = current_folder(store)
    if folder is None:
        raise no_index(store)
    found = [_read_again(mark, progress, tell) for mark in read_store_manifest(folder).corpora]
    report = _build(store, [job for job in found if isinstance(job, Job)], embedder, progress, manner, tell)
    return replace(report, kept=tuple(kept for kept in found if isinstance(kept, Kept)))


def _read_again(mark: CorpusMark, progress: Progress, tell: Tell) -> Job | Kept:
    """Open a corpus where it came from; where that is gone, tell why it stays as it is."""
    try:
        spec = parse_spec(mark.source)
        job = Job(_opened(spec, progress, tell), spec.manifest, spec.text)
        if job.tree.corpus.commit != mark.commit:
            taken_entries(job)
    except (BadInput, StoreError, ToolchainError) as error:
        return Kept(mark.name, error.note)
    return job


def _check_dropped(store: Path, names: Sequence[str], built: Collection[str]) -> None:
    """Raise `BadInput` for corpora that cannot be dropped: not in the index, built at once, or all that it has."""
    if not names:
        return
    folder = current_folder(store)
    if folder is None:
        raise no_index(store)
    held = {mark.name for mark in read_store_manifest(folder).corpora}
    for name in names:
        if name not in held or name in built:
            key = "knowledge.drop_built" if name in built else "knowledge.drop_unknown"
            raise BadInput(key, name=name, known=", ".join(sorted(held)))
    if held <= set(names) and not built:
        raise BadInput("knowledge.drop_all", path=store)


def status(store: Path) -> list[CorpusStatus]:
    """Return the corpora of the index and whether they are those of the installed compilers."""
    folder = current_folder(store)
    if folder is None:
        raise no_index(store)
    return compare(read_store_manifest(folder).corpora)


def corpora() -> list[Manifest]:
    """Return the manifests of all known corpora."""
    return [read_manifest(name) for name in known_corpora()]


def search(index: Index, query: Query, limit: int) -> Answer:
    """Search; where a pass, op or option asked by name is unknown, tell names like it."""
    hits = tuple(index.search(query, limit))
    asked: list[tuple[str, Sort]] = [
        *((name, "pass") for name in query.passes), *((name, "op") for name in query.ops),
        *((name, "option") for name in query.options), *((text, "diagnostic") for text in query.diagnostics),
    ]  # fmt: skip
    unknown = [(name, sort) for name, sort in asked if not index.lookup(name, sort)]
    near = tuple(dict.fromkeys(like for name, sort in unknown for like in index.near(name, sort)))
    return Answer(() if unknown and not query.text else hits, near)


def find_passage(index: Index, id_: str) -> Answer:
    """Return the passage of an id, or ids near it; raises `BadInput` for what is no id."""
    passage = index.passage(id_)
    return Answer((), tuple(index.near_ids(id_))) if passage is None else Answer((Hit(passage, 1.0, ("id",)),))


def _opened(spec: CorpusSpec, progress: Progress, tell: Tell) -> Tree:
    tree, note = open_tree(spec, lambda done, total: progress("fetch", done, total))
    if note is not None:
        tell(note)
    return tree


def _embedder_of(store: Path) -> str | None:
    folder = current_folder(store)
    return read_store_manifest(folder).model if folder is not None else None

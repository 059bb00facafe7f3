"""The knowledge base's use cases, typed in and out: build, update, status, search, and citations with titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from agent.toolchain.catalogue import catalogue_texts
from agent.toolchain.install import find_ascend, read_pins
from indexer.build import DEFAULT_MANNER, BuildReport, Manner, build_index
from indexer.corpus import FolderTree, Manifest, TextTree, Tree, known_corpora, read_manifest
from indexer.embed import DEFAULT_EMBEDDER, load_embedder
from indexer.errors import BadInput, StoreError, ToolchainError
from indexer.git import GitTree, fetch, is_repository, is_url
from indexer.home import data_home
from indexer.reading import Job, Progress
from indexer.records import Passage, Sort
from indexer.store import CorpusMark, current_folder, read_store_manifest
from retriever.records import Hit, Query
from retriever.search import Index, open_knowledge_base

# Made from what is installed, so that they need no network.
DEFAULT_CORPORA = ("toolchain", "notes")
_SPEC = re.compile(r"^(?P<name>[\w.-]+)(?:=(?P<place>.+))?$")
# The revision stands behind the last @; one before a colon or a slash belongs to an address (git@host:path).
_REVISION = re.compile(r"^(?P<place>.+)@(?P<revision>[^@:/]+(?:/[^@:]+)?)$")


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """`NAME[=PATH|URL[@REV]]`: a corpus, and where it is when that is not its manifest's own place."""

    manifest: Manifest
    place: str = ""
    revision: str = ""

    @property
    def text(self) -> str:
        """Return the form the user types."""
        place = f"={self.place}" if self.place else ""
        return f"{self.manifest.name}{place}{f'@{self.revision}' if self.revision else ''}"


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    """A corpus of the index; `matches_toolchain` is None where nothing is installed to compare it with."""

    mark: CorpusMark
    matches_toolchain: bool | None


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

    Raises `StoreError` for the address of a server, which this version cannot use yet.
    """
    if store is None:
        return data_home() / "index"
    if str(store).startswith(("http://", "https://")):
        raise StoreError("knowledge.no_server", store=store)
    return Path(store)


def open_library(store: str | Path | None) -> Library:
    """Open the index; raises `StoreError` where there is none, or it is damaged."""
    return Library(open_knowledge_base(store_folder(store)))


def parse_spec(text: str) -> CorpusSpec:
    """Read `NAME[=PATH|URL[@REV]]`; raises `BadInput` for another form, or a corpus nobody knows."""
    found = _SPEC.match(text)
    if not found:
        raise BadInput("knowledge.bad_spec", text=text)
    manifest, place = read_manifest(found["name"]), found["place"] or ""
    if place and not Path(place).exists() and (parts := _REVISION.match(place)):
        return CorpusSpec(manifest, _absolute(parts["place"]), parts["revision"])
    return CorpusSpec(manifest, _absolute(place))


def build(
    store: Path, specs: Sequence[CorpusSpec], embedder: str | None, progress: Progress, manner: Manner = DEFAULT_MANNER
) -> BuildReport:
    """Index the corpora; those already in the index stay, unless the manner is fresh.

    Without a name the embedder is the one the index was made with. Raises `StoreError` when the disk, the lock or a
    repository refuses, `BadInput` for a path or revision that is not there, `ToolchainError` without the compilers.
    """
    jobs = [Job(open_tree(spec), spec.manifest, spec.text) for spec in specs]
    name = embedder or (None if manner.fresh else _embedder_of(store)) or DEFAULT_EMBEDDER
    return build_index(store, jobs, load_embedder(name), progress, manner)


def update(store: Path, embedder: str | None, progress: Progress, manner: Manner = DEFAULT_MANNER) -> BuildReport:
    """Read all corpora of the index again from where they came; what did not change costs nothing."""
    folder = current_folder(store)
    if folder is None:
        raise StoreError("index.no_index", path=store)
    specs = [parse_spec(mark.source) for mark in read_store_manifest(folder).corpora]
    return build(store, specs, embedder, progress, manner)


def status(store: Path) -> list[CorpusStatus]:
    """Return the corpora of the index and whether they are those of the installed compilers."""
    folder = current_folder(store)
    if folder is None:
        raise StoreError("index.no_index", path=store)
    return [CorpusStatus(mark, _matches(mark)) for mark in read_store_manifest(folder).corpora]


def corpora() -> list[Manifest]:
    """Return the manifests of all known corpora."""
    return [read_manifest(name) for name in known_corpora()]


def search(index: Index, query: Query, limit: int) -> Answer:
    """Search; where a pass, op or option asked by name is unknown, tell names like it."""
    hits = tuple(index.search(query, limit))
    asked: list[tuple[str, Sort]] = [
        *((name, "pass") for name in query.passes), *((name, "op") for name in query.ops),
        *((name, "option") for name in query.options),
    ]  # fmt: skip
    unknown = [(name, sort) for name, sort in asked if not index.lookup(name, sort)]
    near = tuple(dict.fromkeys(like for name, sort in unknown for like in index.near(name, sort)))
    return Answer(() if unknown and not query.text else hits, near)


def find_passage(index: Index, id_: str) -> Answer:
    """Return the passage of an id, or ids near it; raises `BadInput` for what is no id."""
    passage = index.passage(id_)
    return Answer((), tuple(index.near_ids(id_))) if passage is None else Answer((Hit(passage, 1.0, ("id",)),))


def open_tree(spec: CorpusSpec) -> Tree:
    """Open what a spec names: a folder, a repository, an address, or what the manifest says."""
    manifest = spec.manifest
    if is_url(spec.place):
        return _fetched(spec, [spec.place], spec.revision)
    if spec.place:
        path = Path(spec.place)
        if path.is_dir() and is_repository(path):
            return GitTree(manifest.name, manifest.target, path, spec.revision)
        if spec.revision:
            raise BadInput("knowledge.no_repository", path=path, revision=spec.revision)
        return FolderTree(manifest.name, manifest.target, path)
    made = _MADE_HERE.get(manifest.name)
    if made is not None:
        return made(manifest)
    if not manifest.repositories:
        raise BadInput("knowledge.no_place", name=manifest.name)
    return _fetched(spec, manifest.repositories, manifest.commit)


def _toolchain(manifest: Manifest) -> Tree:
    install = find_ascend()
    return TextTree(manifest.name, manifest.target, str(install.site), catalogue_texts(install))


def _notes(manifest: Manifest) -> Tree:
    folder = resources.files("corpora").joinpath("notes")
    texts = {e.name: e.read_text(encoding="utf-8") for e in folder.iterdir() if e.name.endswith(".md")}
    return TextTree(manifest.name, manifest.target, "tritonkb", texts)


_MADE_HERE: dict[str, Callable[[Manifest], Tree]] = {"toolchain": _toolchain, "notes": _notes}


def _fetched(spec: CorpusSpec, urls: Sequence[str], revision: str) -> Tree:
    """Fetch one commit into a bare repository of ours and read it there."""
    folder = data_home() / "sources" / f"{spec.manifest.name}.git"
    commit = fetch(urls, revision, folder)
    return GitTree(spec.manifest.name, spec.manifest.target, folder, commit, origin=urls[0])


def _absolute(place: str) -> str:
    """Keep an address; make a path absolute, so that an update from another folder finds it."""
    return place if not place or is_url(place) else str(Path(place).expanduser().resolve())


def _embedder_of(store: Path) -> str | None:
    folder = current_folder(store)
    return read_store_manifest(folder).model if folder is not None else None


def _matches(mark: CorpusMark) -> bool | None:
    """Compare a corpus with what is installed: its own texts made again, or the commit the wheels were built from."""
    try:
        if mark.name in _MADE_HERE:
            return _MADE_HERE[mark.name](read_manifest(mark.name)).corpus.commit == mark.commit
        find_ascend()
    except ToolchainError:
        return None
    expected = read_pins().commits.get(mark.name)
    return None if expected is None else mark.commit == expected

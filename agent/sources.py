"""Where a corpus comes from: what the user writes of it, opened as a tree of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from agent.toolchain.catalogue import catalogue_texts
from agent.toolchain.commits import expected_commit
from agent.toolchain.install import find_ascend
from indexer.archive import SUFFIXES, ArchiveTree, is_archive
from indexer.checkout import CheckoutTree, open_checkout
from indexer.corpus import FolderTree, Manifest, TextTree, Tree, read_manifest
from indexer.errors import BadInput, StoreError
from indexer.fetch import Progress, fetch
from indexer.git import GitTree, is_repository, is_url
from indexer.home import data_home
from indexer.messages import Message, message

_SPEC = re.compile(r"^(?P<name>[\w.-]+)(?:=(?P<place>.+))?$")
# What is meant as an address, and no path that somebody forgot to make.
_ADDRESS = re.compile(r"^\w[\w+.-]*:(?://|:)")
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


def parse_spec(text: str) -> CorpusSpec:
    """Read `NAME[=PATH|URL[@REV]]`; raises `BadInput` for another form, or a corpus nobody knows."""
    found = _SPEC.match(text)
    if not found:
        raise BadInput("knowledge.bad_spec", text=text)
    manifest, place = read_manifest(found["name"]), found["place"] or ""
    if _ADDRESS.match(place) and not is_url(place) and not Path(place).exists():
        raise BadInput("index.bad_url", url=place)
    if place and not Path(place).exists() and (parts := _REVISION.match(place)):
        return CorpusSpec(manifest, _absolute(parts["place"]), parts["revision"])
    return CorpusSpec(manifest, _absolute(place))


def open_tree(spec: CorpusSpec, progress: Progress = lambda _done, _total: None) -> tuple[Tree, Message | None]:
    """Open what a spec names (folder, repository, archive, address, else the manifest's own); with what to tell of it.

    Raises `BadInput` for a place or revision that is not there, `StoreError` when no address answers, `ToolchainError`
    for the corpus of the compilers without them.
    """
    manifest = spec.manifest
    if is_url(spec.place):
        if spec.place.lower().endswith(SUFFIXES):
            raise BadInput("index.archive_url", url=spec.place, name=manifest.name)
        return _fetched(spec, [spec.place], spec.revision, progress), None
    if spec.place:
        return _opened(spec, Path(spec.place))
    made = MADE_HERE.get(manifest.name)
    if made is not None:
        return made(manifest), None
    if not manifest.repositories:
        raise BadInput("knowledge.no_place", name=manifest.name)
    expected, note, commit = expected_commit(manifest.name), None, manifest.commit
    if expected is not None and expected.is_whole:
        commit = expected.commit
    elif expected is not None:
        note = message("knowledge.not_public", name=manifest.name, commit=expected.commit, taken=commit[:12])
    return _fetched(spec, manifest.repositories, commit, progress), note


def _opened(spec: CorpusSpec, path: Path) -> tuple[Tree, Message | None]:
    manifest = spec.manifest
    if not path.exists():
        raise BadInput("index.no_folder", path=path)
    if path.is_dir() and is_repository(path):
        if spec.revision:
            return GitTree(manifest.name, manifest.target, path, spec.revision), None
        tree = open_checkout(manifest.name, manifest.target, path, manifest.takes)
        if not isinstance(tree, CheckoutTree):
            return tree, None
        values = {"name": manifest.name, "path": path, "count": tree.changed_files}
        return tree, message("knowledge.changed_checkout", **values)
    if spec.revision:
        raise BadInput("knowledge.no_repository", path=path, revision=spec.revision)
    if path.is_file() and is_archive(path):
        return ArchiveTree(manifest.name, manifest.target, path, manifest.takes), None
    if path.is_file():
        raise BadInput("index.unknown_archive", path=path, known=" ".join(SUFFIXES))
    return FolderTree(manifest.name, manifest.target, path, manifest.takes), None


def _toolchain(manifest: Manifest) -> Tree:
    install = find_ascend()
    return TextTree(manifest.name, manifest.target, str(install.site), catalogue_texts(install))


def _notes(manifest: Manifest) -> Tree:
    folder = resources.files("corpora").joinpath("notes")
    texts = {e.name: e.read_text(encoding="utf-8") for e in folder.iterdir() if e.name.endswith(".md")}
    return TextTree(manifest.name, manifest.target, "tritonkb", texts)


# Corpora that need no place and no network.
MADE_HERE: dict[str, Callable[[Manifest], Tree]] = {"toolchain": _toolchain, "notes": _notes}


def _fetched(spec: CorpusSpec, urls: Sequence[str], revision: str, progress: Progress) -> Tree:
    """Fetch one commit into a bare repository of ours and read it there."""
    manifest = spec.manifest
    folder = data_home() / "sources" / f"{manifest.name}.git"
    try:
        commit = fetch(urls, revision, folder, progress, manifest.takes if manifest.partial else None)
    except StoreError as error:
        if error.note.key == "index.no_mirror" and manifest.package and not spec.place:
            values = {"package": manifest.package, "path": manifest.packaged, "name": manifest.name}
            raise StoreError("index.no_mirror_package", **error.note.values, **values) from error
        raise
    return GitTree(manifest.name, manifest.target, folder, commit, origin=urls[0])


def _absolute(place: str) -> str:
    """Keep an address; make a path absolute, so that an update from another folder finds it."""
    return place if not place or is_url(place) else str(Path(place).expanduser().resolve())

"""What is indexed: manifests of the known corpora, and trees of files (folders, packaged notes, made texts)."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol

from indexer.chunk import grammar_of
from indexer.errors import BadInput, StoreError
from indexer.grammar import markdown, plain
from indexer.grammar.base import Grammar
from indexer.records import Corpus, Kind
from indexer.toml import parse_toml

# Larger files are data or generated code; the largest hand-written source of the known trees has 420 kB.
MAX_FILE_BYTES = 2_000_000
# What opening says of a link, of a folder that is one, and of what went meanwhile or cannot be opened at all.
_NO_FILE = (errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.ENXIO)
_LISTS: tuple[str, ...] = ("repositories", "aliases", "include", "exclude", "tests", "damped")
_NAMED_GRAMMARS = {"catalogue": plain.CATALOGUE, "note": markdown.NOTE_GRAMMAR}


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree and the hash of its content (a git blob, or SHA-256)."""

    path: str
    digest: str


class Tree(Protocol):
    """A corpus as files at one commit."""

    corpus: Corpus

    def entries(self) -> list[Entry]:
        """List the files."""
        ...

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Yield the contents in the order asked; of a file over the limit of size, something that is over it too."""
        ...


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `corpora/<name>.toml` says. Globs match whole paths; `*` stops at a slash, `**` does not.

    `tests` are kept as kind `test`; `damped` are vendored or template files that count less in a ranking. `partial`:
    only the files that are taken are fetched. `packaged` is where the system's package `package` puts a part of it.
    """

    name: str
    target: str
    licence: str
    repositories: tuple[str, ...] = ()
    commit: str = ""
    aliases: tuple[str, ...] = ()
    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    damped: tuple[str, ...] = ()
    grammars: tuple[tuple[str, str], ...] = ()
    partial: bool = False
    package: str = ""
    packaged: str = ""

    def takes(self, path: str) -> bool:
        """Tell whether a file of the tree belongs to the corpus."""
        return _matches(self.include, path) and not _matches(self.exclude, path) and self.grammar(path) is not None

    def grammar(self, path: str) -> Grammar | None:
        """Return how a file is read: as the manifest says for its suffix, else by the suffix alone."""
        for suffix, name in self.grammars:
            if path.endswith(suffix):
                return _NAMED_GRAMMARS[name]
        return grammar_of(path)

    def kind(self, path: str) -> Kind | None:
        """Return the kind that overrides the grammar's own, for files of tests."""
        return "test" if _matches(self.tests, path) else None

    def is_damped(self, path: str) -> bool:
        """Tell whether passages of this file count less in a ranking."""
        return _matches(self.damped, path)

    @property
    def digest(self) -> str:
        """Return a hash of everything here that changes what passages come out."""
        return hashlib.sha256(repr((self.tests, self.grammars)).encode()).hexdigest()[:16]


def known_corpora() -> tuple[str, ...]:
    """Return the names that have a manifest."""
    folder = resources.files("corpora")
    return tuple(sorted(e.name.removesuffix(".toml") for e in folder.iterdir() if e.name.endswith(".toml")))


@cache
def read_manifest(name: str) -> Manifest:
    """Read a manifest by the corpus's name or alias; raises `BadInput` naming the known ones."""
    for known in known_corpora():
        table = parse_toml(resources.files("corpora").joinpath(f"{known}.toml").read_text(encoding="utf-8"))
        if name.lower() in {known, *(alias.lower() for alias in table.get("aliases", ()))}:
            lists = {k: tuple(table[k]) for k in _LISTS if k in table}
            return Manifest(
                known, table["target"], table["licence"], grammars=tuple(table.get("grammars", {}).items()),
                commit=table.get("commit", ""), partial=table.get("partial", False), package=table.get("package", ""),
                packaged=table.get("packaged", ""), **lists,
            )  # fmt: skip
    raise BadInput("index.unknown_corpus", name=name, known=", ".join(known_corpora()))


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    parts = (".*" if p == "**" else "[^/]*" if p == "*" else re.escape(p) for p in re.split(r"(\*\*|\*)", glob))
    return re.compile("".join(parts).replace(r".*\/", "(?:.*/)?").replace(".*/", "(?:.*/)?") + r"\Z")


def _matches(globs: tuple[str, ...], path: str) -> bool:
    return any(_pattern(glob).match(path) for glob in globs)


class TextTree:
    """A corpus whose files were made in memory: path -> text. Its commit is the hash of all of it."""

    def __init__(self, name: str, target: str, origin: str, texts: Mapping[str, str]) -> None:
        self._contents = {path: text.encode() for path, text in texts.items()}
        self._entries = [Entry(path, _sha256(data)) for path, data in sorted(self._contents.items())]
        self.corpus = Corpus(name, origin, content_commit(self._entries), target)

    def entries(self) -> list[Entry]:
        """List the files."""
        return self._entries

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Yield the contents in the order asked."""
        for entry in entries:
            yield entry, self._contents[entry.path]


class FolderTree:
    """A plain folder. Links are not followed, so nothing outside it is read; its commit is the hash of its files."""

    def __init__(self, name: str, target: str, folder: Path, takes: Callable[[str], bool] | None = None) -> None:
        """Look at the files that `takes` accepts (default: those of a known language)."""
        if not folder.is_dir():
            raise BadInput("index.no_folder", path=folder)
        self._folder = folder
        self._names = {_shown(path): path for path in _files(folder) if (takes or grammar_of)(_shown(path))}
        contents = ((path, self._content(path)) for path in sorted(self._names))
        self._entries = [Entry(path, _sha256(data)) for path, data in contents if data is not None]
        self.corpus = Corpus(name, str(folder), content_commit(self._entries), target)

    def entries(self) -> list[Entry]:
        """List the files."""
        return self._entries

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Yield the contents in the order asked; raises `StoreError` for a file that went meanwhile."""
        for entry in entries:
            content = self._content(entry.path)
            if content is None:
                raise StoreError("index.unreadable", path=self._folder / entry.path, reason="?")
            yield entry, content

    def _content(self, path: str) -> bytes | None:
        return read_inside(self._folder, self._names[path])


def read_inside(root: Path, path: str) -> bytes | None:
    """Read a regular file below `root`, at most a byte more than the limit; None for a link, or what is no file.

    Neither the file nor a folder on the way to it may be a link: that could lead anywhere. Raises `StoreError` for a
    file that may not be read.
    """
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        *folders, name = Path(path).parts
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
        # A pipe without a writer would block.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise StoreError("index.unreadable", path=root / path, reason=error.strerror) from error
    finally:
        os.close(here)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_FILE_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def content_commit(entries: Sequence[Entry]) -> str:
    """Return the hash of a set of files, which stands for a commit where there is none."""
    return _sha256("".join(f"{e.path}\0{e.digest}\n" for e in entries).encode())


def _files(folder: Path) -> Iterator[str]:
    for here, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in names:
            yield Path(here, name).relative_to(folder).as_posix()


def _shown(path: str) -> str:
    """Return a path that can be stored and printed, also where its bytes are no UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

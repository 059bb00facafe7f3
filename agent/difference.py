"""What changed between two versions of a corpus, and which earlier findings rested on what changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent.journal import JOURNAL, RESULT
from agent.sources import parse_spec
from corpora.cards import read_cards
from indexer.corpus import Entry
from indexer.difference import (
    Changes,
    Fate,
    Lines,
    Version,
    compare,
    fate_of,
    find_block,
    version_of_shelf,
    version_of_tree,
)
from indexer.errors import BadInput
from indexer.git import GitTree, is_repository, is_url
from indexer.grammar.base import split_lines
from indexer.home import data_home
from indexer.reading import Job
from indexer.records import Sort
from indexer.repair import no_index, store_option
from indexer.shelf import Shelf
from indexer.store import CorpusMark, current_folder, generations, read_store_manifest

# Where `tritonkb optimize` puts its runs.
DEFAULT_RUNS = Path("tritonkb-runs")
_ID = re.compile(r"(?P<corpus>[\w.-]+)@(?P<commit>[0-9a-f]{7,40}):(?P<path>[^\n]+)#L(?P<first>\d+)-L?(?P<last>\d+)")
_SORTS: tuple[Sort, ...] = ("pass", "op", "option")
_HEX = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class Expired:
    """Evidence that no longer is what was cited: by which run or note, and what became of it.

    `unknown`: neither a repository nor a kept generation has the text that was cited. `now` are the lines as they are.
    """

    run: str
    passage: str
    change: Literal["changed", "vanished", "moved", "unknown"]
    now: str | None
    lines: tuple[Lines, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The answer of `index diff`; evidence that only stands elsewhere now is kept apart from what expired."""

    corpus: str
    old: str
    new: str
    passes: Changes
    ops: Changes
    options: Changes
    expired: tuple[Expired, ...]
    moved: tuple[Expired, ...]
    unreadable: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What to compare: a corpus, two versions of it, the folders with runs, and the one pass of interest."""

    corpus: str
    old: str = "previous"
    new: str = "current"
    runs: tuple[Path, ...] = ()
    only: str | None = None


def diff(store: Path, asked: Asked) -> Difference:
    """Compare two versions of a corpus, each a generation of the index or a revision of the corpus's repository.

    Raises `BadInput` for a version that is neither, or a pass that neither has, `StoreError` without an index.
    """
    for folder in asked.runs:
        if not folder.is_dir():
            raise BadInput("difference.no_runs", path=folder)
    library = _Library(store, parse_spec(asked.corpus).manifest.name)
    old, new = library.version(asked.old), library.version(asked.new)
    if asked.only is not None and not any(("pass", asked.only) in v.things for v in (old, new)):
        raise BadInput("difference.no_pass", name=asked.only, corpus=library.corpus)
    cited, unreadable = gather_citations(asked.runs or (DEFAULT_RUNS,))
    fates = [e for run, id_ in cited if (e := _expiry(library, old, new, asked.only, run, id_)) is not None]
    passes, ops, options = (compare(old, new, sort, asked.only) for sort in _SORTS)
    expired = tuple(e for e in fates if e.change != "moved")
    moved = tuple(e for e in fates if e.change == "moved")
    return Difference(library.corpus, old.commit, new.commit, passes, ops, options, expired, moved, unreadable)


class _Library:
    """The versions of one corpus that can be had: of the store's generations, and of its repository."""

    def __init__(self, store: Path, corpus: str) -> None:
        self.corpus = corpus
        current = current_folder(store)
        if current is None:
            raise no_index(store)
        finished = generations(store).finished
        self.current = current
        self.folders = [current, *(path for path in reversed(finished) if path != current)]
        self.marks = {path: mark for path in self.folders if (mark := self._mark(path)) is not None}
        if current not in self.marks:
            known = ", ".join(mark.name for mark in read_store_manifest(current).corpora)
            raise BadInput("difference.not_indexed", corpus=corpus, known=known, store=store_option(store))
        self._shelves: dict[Path, Shelf] = {}
        self._trees: dict[str, tuple[GitTree | None, dict[str, Entry]]] = {}
        self._read: dict[tuple[str, str], list[str] | None] = {}

    def version(self, text: str) -> Version:
        """Return the version that `text` names; raises `BadInput` for one that nobody has."""
        text = self._previous() if text == "previous" else text
        folder = self._folder(text)
        if folder is not None:
            return version_of_shelf(self._shelf(folder), self.corpus)
        tree = self.tree(text)
        if tree is None:
            names = ", ".join(path.name for path in self.marks)
            raise BadInput("difference.no_version", text=text, corpus=self.corpus, generations=names)
        manifest = parse_spec(self.corpus).manifest
        return version_of_tree(Job(tree, manifest, self.marks[self.current].source), self._shelf(self.current))

    def tree(self, revision: str) -> GitTree | None:
        """Return the corpus's repository at a revision, None where there is no repository or it lacks that one."""
        if not revision:
            return None  # git would take HEAD for it
        spec = parse_spec(self.marks[self.current].source)
        fetched = not spec.place or is_url(spec.place)
        folder = data_home() / "sources" / f"{self.corpus}.git" if fetched else Path(spec.place)
        if not folder.is_dir() or not is_repository(folder):
            return None
        try:
            return GitTree(self.corpus, spec.manifest.target, folder, revision)
        except BadInput:
            return None

    def cited_lines(self, found: re.Match[str]) -> list[str] | None:
        """Return the lines that an id of any commit names, None where no repository and no generation has them."""
        path, first, last = found["path"], int(found["first"]), int(found["last"])
        whole = self._file(found["commit"], path)
        if whole is not None:
            return whole[first - 1 : last] or None
        for folder in self.marks:
            shelf = self._shelf(folder)
            key = shelf.former_key(self.corpus, found["commit"][:12], path, first, last)
            row = shelf.by_key(key) if key is not None else None
            if row is not None:
                return row.passage.text.split("\n")
        return None

    def _file(self, commit: str, path: str) -> list[str] | None:
        """Return the lines of a file at a commit of the repository; each file is read once."""
        if (commit, path) not in self._read:
            if commit not in self._trees:
                tree = self.tree(commit)
                self._trees[commit] = (tree, {e.path: e for e in tree.entries()} if tree is not None else {})
            tree, entries = self._trees[commit]
            contents = [c for _, c in tree.read([entries[path]])] if tree is not None and path in entries else []
            self._read[commit, path] = split_lines(contents[0].decode("utf-8", "replace")) if contents else None
        return self._read[commit, path]

    def _previous(self) -> str:
        """Return what names the corpus's version before the current one; a build of other corpora makes none."""
        now = self.marks[self.current].commit
        kept = [path.name for path, mark in self.marks.items() if mark.commit != now]
        before = self._shelf(self.current).commit_before(self.corpus)
        if not kept and (before is None or self.tree(before) is None):
            raise BadInput("difference.no_previous", corpus=self.corpus)
        return kept[0] if kept else str(before)

    def _folder(self, text: str) -> Path | None:
        folders = list(self.marks)
        if text == "current":
            return folders[0]
        named = [path for path in folders if path.name == text]
        at_commit = [path for path in folders if _HEX.fullmatch(text) and self.marks[path].commit.startswith(text)]
        return next(iter([*named, *at_commit]), None)

    def _mark(self, folder: Path) -> CorpusMark | None:
        marks = read_store_manifest(folder).corpora
        return next((mark for mark in marks if mark.name == self.corpus), None)

    def _shelf(self, folder: Path) -> Shelf:
        return self._shelves.setdefault(folder, Shelf(folder / "passages.sqlite"))


def gather_citations(folders: Iterable[Path]) -> tuple[list[tuple[str, str]], tuple[Path, ...]]:
    """Return what runs and notes cite, as pairs of run (or note) and id, and the files that could not be read."""
    cited: dict[tuple[str, str], None] = {}
    unreadable = []
    for folder in folders:
        for path in sorted(p for name in (JOURNAL, RESULT) for p in folder.rglob(name)):
            try:
                documents = [json.loads(line) for line in _documents(path)]
            except (OSError, ValueError):
                unreadable.append(path)
                continue
            cited |= dict.fromkeys((str(path.parent), id_) for id_ in _ids(documents))
    for symptom, card in read_cards().items():
        places = (citation for section in card.sections for citation in section.citations)
        cited |= dict.fromkeys((f"notes/{symptom}.md", str(place)) for place in places)
    return list(cited), tuple(unreadable)


def _documents(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    # A journal has a document a line, the last one perhaps cut by a crash.
    return text.split("\n")[:-1] if path.name == JOURNAL else [text]


def _ids(value: Any) -> Iterator[str]:
    """Yield the passage ids that stand anywhere in a JSON document."""
    if isinstance(value, str):
        if _ID.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _ids(part)
    elif isinstance(value, list):
        for part in value:
            yield from _ids(part)


def _expiry(library: _Library, old: Version, new: Version, only: str | None, run: str, id_: str) -> Expired | None:
    """Tell what became of a citation from the old version to the new one; None where it holds, or did not before.

    With `only`, it is asked of citations of that pass; one whose text nobody has is of it where its file is.
    """
    found = _ID.fullmatch(id_)
    if found is None or found["corpus"] != library.corpus or new.commit.startswith(found["commit"][:12]):
        return None
    path, lines = found["path"], (int(found["first"]), int(found["last"]))
    if not old.commit.startswith(found["commit"][:12]):
        block = library.cited_lines(found)
        if block is None:
            asked = only is None or any(p.path == path for _, p in (*old.sources_of(only), *new.sources_of(only)))
            return Expired(run, id_, "unknown", None, ()) if asked else None
        at = find_block(old.files.get(path, []), block, lines[0])
        if at is None:
            return None  # it had expired before
        lines = (at, at + len(block) - 1)
    if only is not None and not old.is_about(only, path, lines):
        return None
    return _expired(run, id_, new, fate_of(old, new, path, lines))


def _expired(run: str, id_: str, new: Version, fate: Fate) -> Expired | None:
    if fate.kind == "kept":
        return None
    now = new.passage_id(fate.path, fate.lines) if fate.lines is not None else None
    return Expired(run, id_, fate.kind, now, fate.differing)

"""A checkout with changes that are in no commit: HEAD's files, and those that differ as they lie in the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from indexer.corpus import Entry, Tree, content_commit, read_inside
from indexer.git import GitTree
from indexer.git_process import run_git
from indexer.records import Corpus

_STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")


class CheckoutTree:
    """A corpus as a changed checkout has it; its commit is the hash of its files, for no commit has these."""

    def __init__(self, base: GitTree, changed: Sequence[str], takes: Callable[[str], bool]) -> None:
        self.base, self._root = base, base.repository
        self._changed: dict[str, bytes] = {}
        for path in changed:
            content = read_inside(self._root, path)
            if content is not None:
                self._changed[path] = content
        kept = [e for e in base.entries() if takes(e.path) and e.path not in set(changed)]
        # Digests as git makes them, so that a later commit of the same content changes nothing.
        new = [Entry(path, _blob_digest(data, base.corpus.commit)) for path, data in self._changed.items()]
        self._entries = sorted([*kept, *new], key=lambda entry: entry.path)
        self.corpus = Corpus(base.corpus.name, str(self._root), content_commit(self._entries), base.corpus.target)
        self.changed_files = len(changed)

    def entries(self) -> list[Entry]:
        """List the files that the corpus takes."""
        return self._entries

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Yield the contents in the order asked."""
        committed = self.base.read([entry for entry in entries if entry.path not in self._changed])
        for entry in entries:
            yield (entry, self._changed[entry.path]) if entry.path in self._changed else next(committed)


def open_checkout(name: str, target: str, repository: Path, takes: Callable[[str], bool]) -> Tree:
    """Open a repository without a revision: its HEAD, unless files that the corpus takes differ in its folder."""
    head = GitTree(name, target, repository, "")
    changed = [path for path in _changed_paths(repository) if takes(path)] if (repository / ".git").exists() else []
    return CheckoutTree(head, changed, takes) if changed else head


def _changed_paths(repository: Path) -> list[str]:
    """List files that differ from HEAD: changed, deleted, or new and not ignored."""
    listing = run_git(repository, _STATUS, settings=_without_filters(repository))
    records = [record.decode(errors="replace") for record in listing.split(b"\0") if record]
    return [record[3:] for record in records if not record.endswith("/")]


def _without_filters(repository: Path) -> dict[str, str]:
    """Return settings that take every filter of the repository away: git would run it to compare a file."""
    names = run_git(repository, ["config", "-z", "--name-only", "--list"]).decode(errors="replace").split("\0")
    return {name: "" for name in names if name.startswith("filter.") and not name.endswith(".required")} | {
        name: "false" for name in names if name.startswith("filter.") and name.endswith(".required")
    }


def _blob_digest(data: bytes, like: str) -> str:
    """Return git's name for the content, in the hash that `like` was made with."""
    made = hashlib.sha256() if len(like) == 64 else hashlib.sha1(usedforsecurity=False)
    made.update(f"blob {len(data)}\0".encode() + data)
    return made.hexdigest()

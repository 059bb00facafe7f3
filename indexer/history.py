"""What a repository's history says of each file: the messages of the commits that changed it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from indexer.checkout import CheckoutTree
from indexer.corpus import Tree
from indexer.git import GitTree
from indexer.git_process import run_git

# Raised whenever something else is told of the same commits.
HISTORY_VERSION = 1
# The newest commits say what a file is now; so many are read in about a second.
MAX_COMMITS = 4000
# A commit that touches more files says little about each.
MAX_TOUCHED = 20
MAX_MESSAGE = 2000  # characters of one message
MAX_TOLD = 40  # messages a file
_RECORD, _FIELD = "\x1e", "\x1f"
# A signature is checked by a program that the repository may name: never.
_LOG = (
    "log", "--no-merges", "--name-only", "--no-renames", "--no-show-signature", "--no-notes", "--no-ext-diff",
    f"--max-count={MAX_COMMITS}", f"--format={_RECORD}%H{_FIELD}%B{_FIELD}",
)  # fmt: skip
# Lines of a message that say who, not what; tags before a subject, and addresses.
_TRAILER = re.compile(r"^\s*(?:[\w-]+-by|change-id|issue|link|see merge|https?)\b.*$", re.IGNORECASE | re.MULTILINE)
_TAGS = re.compile(r"^(?:\s*\[[^\]]*\])+\s*:?\s*|https?://\S+")


@dataclass(frozen=True, slots=True)
class Told:
    """A commit: its hash, its message without what is no description, and the files it touched."""

    hash: str
    message: str
    files: tuple[str, ...]


def history_of(tree: Tree, paths: Collection[str]) -> dict[str, str]:
    """Return what the history tells of those of `paths` that it has; nothing where a tree comes without history."""
    if isinstance(tree, CheckoutTree):
        tree = tree.base
    told: dict[str, list[str]] = {}
    for commit in read_commits(tree.repository, tree.corpus.commit) if isinstance(tree, GitTree) else ():
        for path in commit.files:
            if path in paths and len(told.setdefault(path, [])) < MAX_TOLD:
                told[path].append(commit.message)
    return {path: "\n".join(messages) for path, messages in told.items()}


def read_commits(repository: Path, commit: str) -> Iterator[Told]:
    """Yield the commits up to `commit` that say something of their files, newest first."""
    # A partial clone ends at the first commit whose trees it lacks: what came before is the history that is there.
    log = run_git(repository, [*_LOG, commit], settings={"core.quotePath": "false"}, as_far=True)
    for record in log.decode(errors="replace").split(_RECORD)[1:]:
        hash_, _, rest = record.partition(_FIELD)
        message, _, listed = rest.partition(_FIELD)
        files = tuple(line for line in listed.split("\n") if line)
        if len(files) <= MAX_TOUCHED:
            yield Told(hash_, _TAGS.sub("", _TRAILER.sub("", message).strip())[:MAX_MESSAGE], files)

"""Files of a git repository at one commit, read from its objects; no work tree is needed and none is touched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from indexer.corpus import MAX_FILE_BYTES, Entry
from indexer.errors import BadInput, StoreError
from indexer.git_process import run_git
from indexer.records import Corpus

# No part may begin with a dash: it would be an option of git or of ssh.
_URL = re.compile(r"^(https|ssh|file)://[^-\s]\S*$|^\w[\w.-]*@\w[\w.-]*:[^-\s]\S*$")
_BATCH = 500


class GitTree:
    """A corpus at a commit of a repository (bare, or a checkout whose work tree is ignored)."""

    def __init__(self, name: str, target: str, repository: Path, revision: str, origin: str = "") -> None:
        self.repository = repository
        self.corpus = Corpus(name, origin or str(repository), resolve(repository, revision), target)

    def entries(self) -> list[Entry]:
        """List the regular files; links and submodules are no files."""
        listing = run_git(self.repository, ["ls-tree", "-r", "-z", "--full-tree", self.corpus.commit])
        found = []
        for record in listing.split(b"\0"):
            head, _, path = record.partition(b"\t")
            mode, _, digest = head.decode().rpartition(" ")
            if mode.startswith(("100644 blob", "100755 blob")):
                found.append(Entry(path.decode(errors="replace"), digest))
        return found

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """Yield the contents in the order asked; raises `StoreError` for an object that the repository lacks."""
        for first in range(0, len(entries), _BATCH):
            yield from self._read_batch(entries[first : first + _BATCH])

    def _read_batch(self, batch: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
        sizes = self._sizes(batch)
        wanted = [entry.digest for entry in batch if sizes[entry.digest] <= MAX_FILE_BYTES]
        answer = run_git(self.repository, ["cat-file", "--batch"], stdin="".join(f"{digest}\n" for digest in wanted))
        at = 0
        for entry in batch:
            size = sizes[entry.digest]
            if size > MAX_FILE_BYTES:  # never unpacked: it may be made to fill the memory
                yield entry, bytes(MAX_FILE_BYTES + 1)
                continue
            start = answer.index(b"\n", at) + 1
            yield entry, answer[start : start + size]
            at = start + size + 1

    def _sizes(self, batch: Sequence[Entry]) -> dict[str, int]:
        """Return the size in bytes of each content; raises `StoreError` naming one that is not there."""
        asked = "".join(f"{entry.digest}\n" for entry in batch)
        try:
            answer = run_git(self.repository, ["cat-file", "--batch-check"], stdin=asked).decode()
        except StoreError as error:  # a partial clone: git ends at the first content that it would have to fetch
            lacking = [entry for entry in batch if entry.digest in str(error.note.values.get("reason"))]
            if not lacking:
                raise
            raise StoreError("index.object_missing", repository=self.repository, path=lacking[0].path) from error
        sizes = {}
        for entry, line in zip(batch, answer.splitlines(), strict=True):
            fields = line.split()
            if len(fields) != 3:
                raise StoreError("index.object_missing", repository=self.repository, path=entry.path)
            sizes[entry.digest] = int(fields[2])
        return sizes


def is_repository(path: Path) -> bool:
    """Tell whether `path` itself is a checkout or a bare repository (not merely a folder inside one)."""
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def is_url(text: str) -> bool:
    """Tell whether `text` is an address that we would fetch from: https, ssh or file, nothing else."""
    return _URL.match(text) is not None


def resolve(repository: Path, revision: str) -> str:
    """Return the commit that `revision` (empty: HEAD) names; raises `BadInput` where the repository has none."""
    asked = f"{revision or 'HEAD'}^{{commit}}"
    try:
        answer = run_git(repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", asked])
    except StoreError as error:
        if error.note.key != "index.git_failed":
            raise
        raise BadInput("index.no_revision", revision=revision or "HEAD", repository=repository) from error
    return answer.decode().strip()

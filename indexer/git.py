"""Files of a git repository at one commit, read from its objects; no work tree is needed and none is touched."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from indexer.corpus import Entry
from indexer.errors import BadInput, StoreError
from indexer.records import Corpus

# A stranger's repository must not make git run or fetch anything: no prompts, no lazy fetch of missing objects, no
# transport but these, no system or user configuration.
_SAFE_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
}
_URL = re.compile(r"^(https|ssh|file)://\S+$|^[\w.-]+@[\w.-]+:\S+$")
READ_SECONDS = 300.0
FETCH_SECONDS = 1800.0
_BATCH = 500


class GitTree:
    """A corpus at a commit of a repository (bare, or a checkout whose work tree is ignored)."""

    def __init__(self, name: str, target: str, repository: Path, revision: str, origin: str = "") -> None:
        commit = _resolve(repository, revision)
        self.corpus = Corpus(name, origin or str(repository), commit, target)
        self._repository = repository

    def entries(self) -> list[Entry]:
        """List the regular files; links and submodules are no files."""
        listing = _git(self._repository, ["ls-tree", "-r", "-z", "--full-tree", self.corpus.commit])
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
            batch = entries[first : first + _BATCH]
            answer = _git(self._repository, ["cat-file", "--batch"], stdin="".join(f"{e.digest}\n" for e in batch))
            yield from _split_batch(self._repository, batch, answer)


def is_repository(path: Path) -> bool:
    """Tell whether `path` itself is a checkout or a bare repository (not merely a folder inside one)."""
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def is_url(text: str) -> bool:
    """Tell whether `text` is an address that we would fetch from: https, ssh or file, nothing else."""
    return _URL.match(text) is not None


def fetch(urls: Iterable[str], revision: str, into: Path) -> str:
    """Fetch one commit, shallow, into the bare repository `into` from the first address that answers; return it.

    Raises `StoreError` naming what each address said.
    """
    into.mkdir(parents=True, exist_ok=True)
    if not (into / "HEAD").exists():
        _git(into, ["init", "--quiet", "--bare", "."])
    said = []
    for url in urls:
        if not is_url(url):
            raise BadInput("index.bad_url", url=url)
        try:
            _git(
                into, ["fetch", "--quiet", "--depth", "1", "--no-tags", "--end-of-options", url, revision or "HEAD"],
                seconds=FETCH_SECONDS,
            )  # fmt: skip
        except StoreError as error:
            said.append(f"{url}: {error.note.values.get('reason', error)}")
            continue
        return _resolve(into, "FETCH_HEAD")
    raise StoreError("index.no_mirror", reasons="; ".join(said))


def _resolve(repository: Path, revision: str) -> str:
    try:
        answer = _git(
            repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision or 'HEAD'}^{{commit}}"]
        )
    except StoreError as error:
        raise BadInput("index.no_revision", revision=revision or "HEAD", repository=repository) from error
    return answer.decode().strip()


def _split_batch(repository: Path, batch: Sequence[Entry], answer: bytes) -> Iterator[tuple[Entry, bytes]]:
    at = 0
    for entry in batch:
        stop = answer.index(b"\n", at)
        fields = answer[at:stop].split()
        if len(fields) != 3:
            raise StoreError("index.object_missing", repository=repository, path=entry.path)
        size = int(fields[2])
        yield entry, answer[stop + 1 : stop + 1 + size]
        at = stop + 1 + size + 1


def _git(repository: Path, arguments: Sequence[str], *, stdin: str = "", seconds: float = READ_SECONDS) -> bytes:
    """Run git on one repository in its own process group; raises `StoreError` with git's last line."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments]
    try:
        process = subprocess.Popen(
            command, cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **_SAFE_ENVIRONMENT}, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise StoreError("index.no_git") from error
    try:
        out, err = process.communicate(stdin.encode(), timeout=seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise StoreError("index.git_failed", repository=repository, reason=f"{seconds:.0f} s") from error
        raise
    if process.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        raise StoreError("index.git_failed", repository=repository, reason=lines[-1] if lines else "?")
    return out

"""One commit of a corpus from the first of its addresses that answers, into a bare repository of ours."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from indexer.errors import BadInput, StoreError
from indexer.git import GitTree, is_url, resolve
from indexer.git_process import end_git, fetching_environment, reason_of, run_git, start_git

# llvm-project's one commit is 200 MB; a line of 1 Mbit/s needs half an hour.
FETCH_SECONDS = 1800.0
# git tells its progress every second, and a server that counts objects does too.
SILENT_SECONDS = 120.0

# Enough for the last progress and for a server's complaint.
KEPT_CHARACTERS = 8000

# Done, total.
Progress = Callable[[int, int], None]
# A branch, a tag or a whole commit: what a server can be asked for, and nothing that means more to git.
_REVISION = re.compile(r"^[0-9A-Za-z_][\w./+#-]*$")
_WHOLE_COMMIT = re.compile(r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$")
_PART_OF_COMMIT = re.compile(r"^[0-9a-f]{7,39}$")
_RECEIVING = re.compile(r"Receiving objects:\s+\d+% \((\d+)/(\d+)\)")


def fetch(
    urls: Sequence[str], revision: str, into: Path, progress: Progress, takes: Callable[[str], bool] | None = None
) -> str:
    """Return the commit that `revision` (empty: HEAD) is, fetched alone, without history; kept where it was before.

    With `takes`, the contents of other files stay where they are. Raises `StoreError` naming what each address said.
    """
    from filelock import FileLock  # noqa: PLC0415 - it loads asyncio; what lies on this machine needs no fetch

    _check(urls, revision)
    into.mkdir(parents=True, exist_ok=True)
    with FileLock(into.with_name(f"{into.name}.lock")):
        if not (into / "HEAD").exists():
            run_git(into, ["init", "--quiet", "--bare", "."])
        _sweep(into)
        said = []
        for url in urls:
            try:
                commit = _kept(into, revision) or _fetch_commit(into, url, revision, takes, progress)
                if takes is not None:
                    _fetch_contents(into, url, commit, takes, progress)
            except StoreError as error:
                said.append(f"{url}: {error.note.values.get('reason', error)}")
                continue
            return commit
    raise StoreError("index.no_mirror", reasons="; ".join(said))


def _check(urls: Sequence[str], revision: str) -> None:
    for url in urls:
        if not is_url(url):
            raise BadInput("index.bad_url", url=url)
    if revision and (not _REVISION.match(revision) or ".." in revision):
        raise BadInput("index.bad_revision", revision=revision)
    if _PART_OF_COMMIT.match(revision):
        raise BadInput("index.short_revision", revision=revision)


def _kept(into: Path, revision: str) -> str:
    """Return a whole commit that an earlier fetch completed, else nothing."""
    if not _WHOLE_COMMIT.match(revision) or not (into / "refs/tritonkb" / revision).exists():
        return ""
    return resolve(into, revision)


def _fetch_commit(into: Path, url: str, revision: str, takes: Callable[[str], bool] | None, progress: Progress) -> str:
    options = ["--progress", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc"]
    # A fetch that is unpacked tells no progress.
    packed = ["-c", "fetch.unpackLimit=1"]
    if takes is not None:  # a server that cannot leave contents out sends them, with a warning
        options.append("--filter=blob:none")
    _run(into, [*packed, "fetch", *options, "--end-of-options", url, revision or "HEAD"], progress)
    commit = resolve(into, "FETCH_HEAD")
    # The name keeps git from sweeping it away, and says that all of it is here.
    run_git(into, ["update-ref", f"refs/tritonkb/{commit}", commit])
    return commit


def _fetch_contents(into: Path, url: str, commit: str, takes: Callable[[str], bool], progress: Progress) -> None:
    """Fetch the files of a commit that was fetched without contents, as far as the corpus takes them."""
    listing = run_git(into, ["rev-list", "--objects", "--no-object-names", "--missing=print", commit]).decode()
    missing = {line[1:] for line in listing.splitlines() if line.startswith("?")}
    wanted = [e.digest for e in GitTree("", "", into, commit).entries() if e.digest in missing and takes(e.path)]
    if wanted:
        options = ["--progress", "--depth=1", "--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--stdin"]
        # What is asked for has no history to negotiate about.
        _run(into, ["-c", "fetch.negotiationAlgorithm=noop", "fetch", *options, url], progress, wanted)


def _run(into: Path, arguments: Sequence[str], progress: Progress, lines: Sequence[str] = ()) -> None:
    """Run git with the network; raises `StoreError` with its reason, also when it is silent or slow for too long."""
    with TemporaryFile() as stdin:
        stdin.write("".join(f"{line}\n" for line in lines).encode())
        stdin.seek(0)
        process = start_git(into, arguments, fetching_environment(), stdin)
        try:
            said = _listen(process, progress)
            code = process.wait(SILENT_SECONDS)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise StoreError("index.git_failed", repository=into, reason=error) from error
        finally:
            end_git(process)
    if code:
        raise StoreError("index.git_failed", repository=into, reason=reason_of(said))


def _listen(process: subprocess.Popen[bytes], progress: Progress) -> str:
    """Return all that git says until it ends; raises `TimeoutError` when that lasts too long."""
    assert process.stderr is not None  # noqa: S101 - it was started with a pipe
    descriptor = process.stderr.fileno()
    said, end = "", time.monotonic() + FETCH_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while selector.select(min(SILENT_SECONDS, max(0.0, end - time.monotonic()))):
            data = os.read(descriptor, 1 << 16)
            if not data:
                return said
            said = (said + data.decode(errors="replace"))[-KEPT_CHARACTERS:]
            if received := _RECEIVING.findall(said):
                progress(*map(int, received[-1]))
    limit = FETCH_SECONDS if time.monotonic() >= end else SILENT_SECONDS
    raise TimeoutError(f"no answer for {limit:.0f} s")


def _sweep(into: Path) -> None:
    """Remove what a killed git left; the lock of the folder is ours, so no other is at work."""
    for path in (*into.glob("*.lock"), *into.glob("objects/pack/tmp_*"), *into.glob("refs/tritonkb/*.lock")):
        path.unlink(missing_ok=True)
    for path in into.glob("objects/tmp_objdir-*"):
        shutil.rmtree(path, ignore_errors=True)

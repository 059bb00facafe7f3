"""Whether a corpus of the index is the source of the installed compilers, and the command that makes it so."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.sources import MADE_HERE, parse_spec
from agent.toolchain.commits import Expected, expected_commits
from agent.toolchain.install import find_ascend
from indexer.corpus import read_manifest
from indexer.errors import BadInput, ToolchainError
from indexer.git import is_repository, is_url, resolve
from indexer.repair import BUILD, store_option
from indexer.store import CorpusMark


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    """A corpus of the index; `matches_toolchain` is None where there is nothing to compare it with.

    `expected` is the commit that the installed compilers were built from, as far as it is known. `mend` is the
    `--corpus` argument that makes the two equal, and `before` a command to run first (both empty: nothing can be done).
    """

    mark: CorpusMark
    matches_toolchain: bool | None
    expected: str = ""
    mend: str = ""
    before: str = ""


def compare(marks: Iterable[CorpusMark]) -> list[CorpusStatus]:
    """Compare corpora with what is installed: texts made here with themselves made again, sources by their commit."""
    expected = _expected()
    return [_made_again(mark) if mark.name in MADE_HERE else _by_commit(mark, expected) for mark in marks]


def mending_command(statuses: Iterable[CorpusStatus], store: Path | None = None) -> str:
    """Return one command that mends all of these corpora of the index in `store`, empty where nothing has to be."""
    todo = [status for status in statuses if status.mend]
    first = [status.before for status in todo if status.before]
    arguments = " ".join(f"--corpus {status.mend}" for status in todo)
    build = f"{BUILD}{store_option(store) if store is not None else ''} {arguments}"
    return " && ".join([*dict.fromkeys(first), build]) if todo else ""


def _expected() -> Mapping[str, Expected]:
    try:
        return expected_commits(find_ascend())
    except ToolchainError:
        return {}


def _made_again(mark: CorpusMark) -> CorpusStatus:
    try:
        commit = MADE_HERE[mark.name](read_manifest(mark.name)).corpus.commit
    except ToolchainError:
        return CorpusStatus(mark, None)
    same = commit == mark.commit
    return CorpusStatus(mark, same, commit, "" if same else mark.name)


def _by_commit(mark: CorpusMark, expected: Mapping[str, Expected]) -> CorpusStatus:
    wanted = expected.get(mark.name)
    if wanted is None:
        return CorpusStatus(mark, None)
    if wanted.fits(mark.commit):
        return CorpusStatus(mark, matches_toolchain=True, expected=wanted.commit)
    mend, before = _mend(mark, wanted)
    # The hash of a folder's or a changed checkout's content says nothing about commits.
    return CorpusStatus(mark, None if len(mark.commit) == 64 else False, wanted.commit, mend, before)


def _mend(mark: CorpusMark, wanted: Expected) -> tuple[str, str]:
    """Return the argument that names the wanted commit, and the command that brings it to the user's repository."""
    spec, commit = parse_spec(mark.source), wanted.commit
    if is_url(spec.place):
        return (f"{mark.name}={shlex.quote(spec.place)}@{commit}", "") if wanted.is_whole else _anywhere(mark, wanted)
    if spec.place and Path(spec.place).is_dir() and is_repository(Path(spec.place)):
        place, has_it = shlex.quote(spec.place), _has(Path(spec.place), commit)
        before = "" if has_it else f"git -C {place} fetch --all --tags"
        return (f"{mark.name}={place}@{commit[:12]}", before) if has_it or wanted.is_public else ("", "")
    return (mark.name, "") if wanted.is_whole and read_manifest(mark.name).repositories else _anywhere(mark, wanted)


def _anywhere(mark: CorpusMark, wanted: Expected) -> tuple[str, str]:
    return (f"{mark.name}=PATH@{wanted.commit}" if wanted.is_public else "", "")


def _has(repository: Path, commit: str) -> bool:
    try:
        return bool(resolve(repository, commit))
    except BadInput:
        return False

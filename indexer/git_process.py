"""Running git on a repository that may be a stranger's: nothing of it is executed, and nobody is asked for anything."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from indexer.errors import BadInput, StoreError

READ_SECONDS = 300.0

# No prompts, no lazy fetch of missing objects, no lock files, no objects in place of others.
_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # set and empty: no program is asked for a password
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
# A read needs neither the user's configuration nor any transport (a git before 2.44 knows no GIT_NO_LAZY_FETCH).
_READING = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ALLOW_PROTOCOL": "none"}
# A fetch may use the user's proxies, certificates and keys, and these transports only.
_FETCHING = {"GIT_ALLOW_PROTOCOL": "https:ssh:file"}
# Variables of a shell inside some repository (a hook, say) that would point git at that one.
_REDIRECTING = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
})  # fmt: skip
# Programs that the repository's own configuration could name.
_NO_PROGRAMS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", f"core.attributesFile={os.devnull}")


def run_git(
    repository: Path, arguments: Sequence[str], *, stdin: str = "", settings: Mapping[str, str] | None = None,
    as_far: bool = False,
) -> bytes:  # fmt: skip
    """Read from one repository; raises `StoreError` with git's reason. `settings` win over the repository's own.

    With `as_far`, what git said before it failed is the answer.
    """
    process = start_git(repository, arguments, reading_environment(settings or {}))
    try:
        out, err = process.communicate(stdin.encode(), timeout=READ_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise StoreError("index.git_failed", repository=repository, reason=f"{READ_SECONDS:.0f} s") from error
    finally:
        end_git(process)
    if process.returncode and not as_far:
        raise StoreError("index.git_failed", repository=repository, reason=reason_of(err.decode(errors="replace")))
    return bytes(out)


def start_git(
    repository: Path, arguments: Sequence[str], environment: Mapping[str, str], stdin: IO[bytes] | int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start git on one repository in a process group of its own; raises `StoreError` where there is no git.

    The repository is named, not searched for, so that neither a broken one nor its settings lead git elsewhere.
    """
    inside = repository / ".git"
    tree = [f"--work-tree={repository}"] if inside.exists() else []
    settings = [word for setting in _NO_PROGRAMS for word in ("-c", setting)]
    named = f"--git-dir={inside if inside.exists() else repository}"
    try:
        return subprocess.Popen(
            ["git", "--no-pager", named, *tree, *settings, *arguments], cwd=repository, stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environment), start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        if shutil.which("git") is None:
            raise StoreError("index.no_git") from error
        raise BadInput("index.no_folder", path=repository) from error


def end_git(process: subprocess.Popen[bytes]) -> None:
    """Kill git with all that it started, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            stream.close()


def reading_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git sees no configuration but the repository's own and `settings`."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    pairs = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        pairs |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**ours, **_QUIET, **_READING, **pairs}


def fetching_environment() -> dict[str, str]:
    """Return an environment in which git may use the network as the user's own configuration says."""
    return {**{name: value for name, value in os.environ.items() if name not in _REDIRECTING}, **_QUIET, **_FETCHING}


def reason_of(said: str) -> str:
    """Return the line of git's complaint that names the cause: the first that is no progress, no warning, no hint."""
    lines = [line.strip() for line in said.replace("\r", "\n").splitlines() if line.strip()]
    causes = [
        line for line in lines if line.startswith(("fatal:", "error:", "ssh:", "remote: fatal:", "remote: error:"))
    ]
    return (causes or lines[-1:] or ["?"])[0]

"""A Python that the Ascend wheels exist for: the user's, that of PATH, else one from uv or apt."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agent.toolchain.pip import has_own_pip
from indexer.errors import BadInput, ToolchainError

# Prints the version where the interpreter can make virtual environments, else fails. Debian splits `ensurepip` off,
# which is only needed where our own environment has no pip to serve the new one.
_ASK_VERSION = "import sys, venv{}; print('%d.%d' % sys.version_info[:2])"
# Another apt-get may be at work; recommended packages would be a compiler and manuals.
APT_OPTIONS = ("-o", "DPkg::Lock::Timeout=300", "--no-install-recommends")
# Fetching a Python (30 MB) or Debian packages over a slow line.
FETCH_SECONDS = 900


def find_python(versions: Sequence[str], named: Path | None = None) -> Path:
    """Find an interpreter of one of `versions` ("3.11"), the first preferred; `named` must be one or is refused.

    Raises `BadInput` for an unusable `named`, `ToolchainError` when there is none and none can be fetched.
    """
    if named is not None:
        found = _version_of(str(named))
        if found not in versions:
            values = {"python": named, "found": found or "?", "versions": " / ".join(versions)}
            raise BadInput("toolchain.wrong_python", **values)
        return named
    for candidates in (_present(versions), _fetched_by_uv(versions), _fetched_by_apt(versions)):
        preferred = _most_preferred(versions, candidates)
        if preferred is not None:
            return preferred
    raise ToolchainError("toolchain.no_python", versions=" / ".join(versions), version=versions[0])


def _most_preferred(versions: Sequence[str], candidates: Iterable[str]) -> Path | None:
    others: dict[str | None, str] = {}
    for candidate in candidates:
        version = _version_of(candidate)
        if version == versions[0]:
            return Path(candidate)
        others.setdefault(version, candidate)
    return next((Path(others[version]) for version in versions if version in others), None)


def _present(versions: Sequence[str]) -> Iterator[str]:
    yield sys.executable
    for name in (*(f"python{version}" for version in versions), "python3", "python"):
        # All of them on PATH: the first may be a shim that answers for another folder.
        for folder in os.get_exec_path():
            path = shutil.which(name, path=folder)
            if path:
                yield path
    for version in versions:
        yield from _uv("python", "find", "--no-python-downloads", version)


def _fetched_by_uv(versions: Sequence[str]) -> Iterator[str]:
    if shutil.which("uv"):
        _uv("python", "install", versions[0])
        yield from _uv("python", "find", versions[0])


def _fetched_by_apt(versions: Sequence[str]) -> Iterator[str]:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    for version in versions:
        packages = [f"python{version}", f"python{version}-venv"]
        if _succeeds(["apt-get", "install", "-y", "-qq", *APT_OPTIONS, *packages]):
            yield f"/usr/bin/python{version}"


def _uv(*arguments: str) -> list[str]:
    """Run uv where it exists; give the lines that it printed."""
    if not shutil.which("uv"):
        return []
    done = subprocess.run(["uv", *arguments], capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, timeout=FETCH_SECONDS, check=False).returncode == 0


def _version_of(candidate: str) -> str | None:
    question = _ASK_VERSION.format("" if has_own_pip() else ", ensurepip")
    try:
        done = subprocess.run([candidate, "-c", question], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None

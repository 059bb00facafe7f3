"""Private environments: folders `NAME.d/<id>`, and a link `NAME` to the finished one, replaced in one step."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from indexer.messages import Message, message

Tell = Callable[[Message], None]


def locked(link: Path, tell: Tell) -> FileLock:
    """Give the lock that keeps two installs apart, waiting for the other one; say so before waiting."""
    lock = FileLock(link.parent / f"{link.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(message("toolchain.waiting", lock=lock.lock_file))
        lock.acquire()
    return lock


def folder_of_environments(link: Path) -> Path:
    """Return the folder that holds the environments, of which `link` names one."""
    return link.with_name(f"{link.name}.d")


def point(link: Path, folder: Path) -> None:
    """Let `link` name `folder` in one step."""
    fresh = link.with_name(f"{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.relative_to(link.parent))
    if link.is_dir() and not link.is_symlink():
        unlink(link)
    fresh.replace(link)


def unlink(link: Path) -> None:
    """Remove what `link` is: a link, or a folder of an older release."""
    if link.is_symlink():
        link.unlink()
    elif link.exists():
        shutil.rmtree(link)


def sweep(link: Path) -> None:
    """Delete environments that nothing points at: those of killed installs, and the one just replaced."""
    folder = folder_of_environments(link)
    for environment in folder.iterdir() if folder.exists() else ():
        if not link.exists() or environment.resolve() != link.resolve():
            shutil.rmtree(environment)

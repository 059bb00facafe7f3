"""Where a compilation works and leaves its files: nothing half-written, and a full disk said as such."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from indexer.errors import FULL, BadInput, StoreError

# What the compilers print when they cannot write.
_NO_SPACE = "No space left on device"
_PROBE_BYTES = 1 << 16


@contextmanager
def work_folder(out: Path | None) -> Iterator[Path]:
    """Give a folder to work in that is gone afterwards; inside `out`, so that results can be renamed into it.

    Raises `StoreError` when the disk is full meanwhile, `BadInput` when `out` cannot be written.
    """
    parent = out or Path(tempfile.gettempdir())
    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".tritonkb-", dir=parent))
    except OSError as error:
        raise _translate(error, parent) from error
    try:
        yield work
    except OSError as error:
        if error.errno in FULL:
            raise _translate(error, parent) from error
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def results_folder(out: Path | None) -> Path:
    """Return where results stay: `out`, or a folder of their own that goes when this process ends."""
    return out if out is not None else Path(tempfile.mkdtemp(dir=_scratch()))


def move_into(source: Path, target: Path) -> Path:
    """Rename a finished file or folder to `target`, in place of what is there; return `target`."""
    if target.is_dir():
        shutil.rmtree(target)
    return source.replace(target)


def check_space(work: Path, said: str) -> None:
    """Raise `StoreError` when a program failed because the disk is full, whether it could still say so or not.

    The compilers end with exit code 1 then, and what they print goes to the same full disk.
    """
    if _NO_SPACE in said:
        raise StoreError("compile.disk_full", folder=work.parent)
    probe = work / "probe"
    try:
        probe.write_bytes(bytes(_PROBE_BYTES))
        probe.unlink()
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise StoreError("compile.disk_full", folder=work.parent) from error


def _translate(error: OSError, folder: Path) -> StoreError | BadInput:
    if error.errno in FULL:
        return StoreError("compile.disk_full", folder=folder)
    return BadInput("compile.cannot_write", folder=folder, reason=error.strerror or str(error))


@cache
def _scratch() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tritonkb-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder

"""The one tree of exceptions, by who can act; each has its exit code (design, section 6).

An exception means that we, or the machine, cannot go on. A kernel that is rejected, wrong or slow is a result.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import ClassVar

from indexer.messages import Message, message, render

# What a write says when there is no space left, on the disk or of the user's share.
FULL = (errno.ENOSPC, errno.EDQUOT)


class TritonkbError(Exception):
    """Something stopped us; `note` says what, with the value, and the way out."""

    exit_code: ClassVar[int] = 1

    def __init__(self, key: str, **values: object) -> None:
        self.note: Message = message(key, **values)
        super().__init__(key)

    def __reduce__(self) -> tuple[object, ...]:
        """Let the error travel between processes with its values."""
        return _rebuild, (type(self), self.note)

    def __str__(self) -> str:
        return render(self.note, "en")


def _rebuild(kind: type[TritonkbError], note: Message) -> TritonkbError:
    return kind(note.key, **note.values)


class BadInput(TritonkbError):
    """The user's file, flag or target cannot be used: they can correct it."""

    exit_code = 2


class StoreError(TritonkbError):
    """A corpus, the index or the disk is missing, full, locked or damaged."""

    exit_code = 3


def not_written(path: Path, error: Exception) -> StoreError:
    """Return what to raise where the index cannot be written: a full disk, or a place that does not take it."""
    # SQLite and Chroma only say it.
    full = getattr(error, "errno", None) in FULL or "disk is full" in str(error) or "No space left" in str(error)
    return StoreError("index.disk_full" if full else "index.cannot_write", path=path, reason=error)


class ToolchainError(TritonkbError):
    """A compiler is not installed, or its worker died."""

    exit_code = 4


class ModelError(TritonkbError):
    """The language model's endpoint refused or failed."""

    exit_code = 5


class SandboxError(TritonkbError):
    """There is no sandbox here, or its limit of time or memory was hit."""

    exit_code = 6

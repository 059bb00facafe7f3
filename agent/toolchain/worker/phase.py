"""Whose code a job was in when it died: the host's, or Triton's front end lowering what the host launched."""

from __future__ import annotations

import mmap

# One byte shared by the server and its children.
_MARK = mmap.mmap(-1, 1)


def begin() -> None:
    """Mark the start of a job: host code runs."""
    _MARK[0] = 0


def enter_lowering() -> None:
    """Mark that host code is done, and the front end runs."""
    _MARK[0] = 1


def died_lowering() -> bool:
    """Tell whether the last job had come to lowering."""
    return _MARK[0] == 1

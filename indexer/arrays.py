"""Arrays on disk: the one door to numpy's files, so that threads may open them at once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# Smaller files are read: one without items cannot be mapped.
_MAPPED_BYTES = 4096
# numpy parses a file's header as Python, which two threads of CPython 3.11 may not do at once (its issue 106905:
# "SystemError: AST constructor recursion depth mismatch").
_PARSING = threading.Lock()


def read_array(path: Path) -> npt.NDArray[Any]:
    """Read a whole array; raises `OSError`, `ValueError` or `EOFError` where the file is damaged."""
    with _PARSING:
        return np.asarray(np.load(path))


def mapped(path: Path) -> npt.NDArray[Any]:
    """Open an array of which only what is asked for is read; raises as `read_array` does."""
    with _PARSING:
        return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > _MAPPED_BYTES else None))

"""Which Triton this worker's Python has: Triton-Ascend's, or upstream's with the CUDA back end."""

from __future__ import annotations

import importlib.util
from typing import Any

IS_UPSTREAM = importlib.util.find_spec("triton.backends.ascend") is None


def line_of_def(fn: Any) -> int:
    """Return the line of the `def` of a jitted function; Triton 3.7 and newer keep it, older ones look for it."""
    known = getattr(fn, "def_file_line_number", None)
    if known is not None:
        return int(known)
    from triton.runtime.jit import get_jit_fn_file_line  # noqa: PLC0415 - gone in newer ones

    return int(get_jit_fn_file_line(fn)[1])

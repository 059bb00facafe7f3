"""Which Triton this worker's Python has: Triton-Ascend's, or upstream's with the CUDA back end."""

from __future__ import annotations

import importlib.util

IS_UPSTREAM = importlib.util.find_spec("triton.backends.ascend") is None

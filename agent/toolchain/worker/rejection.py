"""Why a job has no answer, as data that tritonkb turns into a sentence."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any


class Rejection(Exception):
    """The file, or what it does, cannot be used: `reason` is a key of the capture catalogue, `values` its values."""

    def __init__(self, reason: str, **values: Any) -> None:
        super().__init__(reason)
        self.reason, self.values = reason, values

    def as_answer(self) -> dict[str, Any]:
        """Give the frame header for this."""
        return {"status": "rejected", "reason": self.reason, "values": self.values}


class Abandon(BaseException):
    """The job stops here by our own will; not for host code to catch, nor to be taken for its fault."""


def line_in(trace: TracebackType | None, filename: str) -> int:
    """Return the innermost line of `trace` that is in `filename`; 0 when it never passed there."""
    lines = [frame.lineno or 0 for frame in traceback.extract_tb(trace) if frame.filename == filename]
    return lines[-1] if lines else 0


def host_raised(error: BaseException, filename: str) -> Rejection:
    """Translate an exception of host code."""
    line = line_in(error.__traceback__, filename)
    return Rejection("host_raised", exception=type(error).__name__, text=_shorten(str(error)), line=line)


def syntax_error(error: SyntaxError) -> Rejection:
    """Translate a syntax error."""
    return Rejection("syntax", line=error.lineno or 0, text=(error.text or "").strip(), problem=error.msg)


def _shorten(text: str, limit: int = 400) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"

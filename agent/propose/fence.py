"""Text of others, between lines with a mark that it cannot hold, so that a model can tell it from what we say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def mark_of(texts: Iterable[str]) -> str:
    """Return a mark that none of the texts can hold: it depends on all of them."""
    return hashlib.sha256("\0".join(texts).encode(errors="replace")).hexdigest()[:16]


def fenced(mark: str, name: str, text: str) -> str:
    """Put a text between lines with the mark; a text that holds the mark loses it."""
    return f"----- {mark} {name} begins -----\n{text.replace(mark, '[mark]')}\n----- {mark} {name} ends -----"

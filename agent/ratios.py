"""The one place where two costs are divided: only costs of one basis have a ratio."""

from __future__ import annotations

from typing import Protocol


class Priced(Protocol):
    """A time with its basis: a cost, or its JSON form."""

    @property
    def value(self) -> float:
        """Return the time in microseconds."""

    @property
    def basis(self) -> str:
        """Return `measured` or `predicted`."""


def speedup(before: Priced, after: Priced) -> float:
    """Return how many times faster `after` is; raises `ValueError` for a measured and a predicted time."""
    if before.basis != after.basis:
        raise ValueError(f"a {before.basis} and a {after.basis} time have no ratio")
    return before.value / after.value


def speedup_of(before: Priced | None, after: Priced | None) -> float | None:
    """Return how many times faster `after` is; None where one is missing, or where they have no ratio."""
    if before is None or after is None or before.basis != after.basis:
        return None
    return speedup(before, after)

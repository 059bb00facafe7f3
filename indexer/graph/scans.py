"""The scans: what is read from one passage alone. The graph joins it over all passages at each build, an update too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from indexer.graph import mentions, messages, operations, passes
from indexer.graph.sources import Facts
from indexer.records import Passage

# Each depends on nothing but text, symbol, path, kind and language; raise SYMBOLS_VERSION where one finds other things.
SCANS: Mapping[str, Callable[[Passage], Sequence[Any]]] = {
    "messages": lambda p: list(messages.messages_of(p)),
    "shown_ops": operations.shown_ops,
    "namespaces": operations.namespaces,
    "made": operations.made,
    "matched": operations.matched,
    "templates": operations.templates,
    "generated": passes.generated,
    "arguments": passes.arguments,
    "creates": passes.creates,
    "entry": passes.entry,
    "populates": passes.populates,
    "registered": passes.registered,
    "hyphenated": mentions.hyphenated,
    "flags": mentions.flags,
    "dotted": mentions.dotted,
    "classes": mentions.classes,
}


def scan_passage(passage: Passage) -> Facts:
    """Return what all scans find."""
    return {name: found for name, look in SCANS.items() if (found := look(passage))}

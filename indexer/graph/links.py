"""Links between passages: each thing's passages and the one that defines it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from indexer.records import Link, Naming, Passage, Sort

# Symbols are names of code, not things that passages of other files are about.
_LINKED: frozenset[Sort] = frozenset({"pass", "op", "option", "diagnostic"})


def link_passages(passages: Sequence[Passage], namings: Iterable[Naming]) -> list[Link]:
    """Return the links of the graph; a tree's passages are linked to its own definitions where it has them."""
    things: dict[tuple[Sort, str], list[Naming]] = defaultdict(list)
    for naming in namings:
        # Tests name hundreds of operations in passing; the passes of their RUN lines are what they are about.
        if naming.sort in _LINKED and not (naming.sort == "op" and naming.relation == "tests"):
            things[naming.sort, naming.name].append(naming)
    return list(dict.fromkeys(link for found in things.values() for link in _links(passages, found)))


def _links(passages: Sequence[Passage], namings: Sequence[Naming]) -> Iterator[Link]:
    definers: dict[str, list[int]] = defaultdict(list)
    for naming in namings:
        if naming.relation == "defines" and passages[naming.row].kind != "catalog":
            definers[passages[naming.row].corpus].append(naming.row)
    if not definers:
        for naming in namings:
            if naming.relation in {"defines", "option_of"}:
                definers[passages[naming.row].corpus].append(naming.row)
    everywhere = [row for rows in definers.values() for row in rows]
    for naming in namings:
        own = definers.get(passages[naming.row].corpus, everywhere)
        # A catalogue's entry tells what the definition was when the compiler was built.
        relation = "documents" if naming.relation == "defines" else naming.relation
        if naming.relation != "defines" or passages[naming.row].kind == "catalog":
            yield from (Link(naming.row, target, relation) for target in own if target != naming.row)

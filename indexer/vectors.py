"""Vectors of passages: from the cache by (model, text), else from the model, here or by the helpers of a crew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from indexer.crew import Alone, Crew
from indexer.embed import Embedder, Vectors, is_sending, load_embedder
from indexer.errors import StoreError
from indexer.reading import Progress
from indexer.store import VectorCache


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many passages had their vector in the cache, and how many texts were given to the model."""

    reused: int
    embedded: int


def fill_vectors(
    vectors: Vectors, texts: Mapping[int, str], embedder: Embedder, store: Path, crew: Crew, progress: Progress
) -> Embedded:
    """Set the rows of `vectors` whose texts are given.

    Each batch is kept in the store at once, so that a build that is killed need not make it again.
    """
    hashes = {row: hashlib.sha256(text.encode()).digest() for row, text in texts.items()}
    cache = VectorCache(store / "vectors.sqlite", f"{embedder.model} {json.dumps(embedder.versions, sort_keys=True)}")
    try:
        unknown: dict[bytes, list[int]] = {}  # some passages say the same
        for (row, hash_), found in zip(hashes.items(), cache.get(list(hashes.values())), strict=True):
            if found is None:
                unknown.setdefault(hash_, []).append(row)
            else:
                vectors[row] = found
        new = list(unknown.items())
        batches = [new[first : first + embedder.batch] for first in range(0, len(new), embedder.batch)]
        asked = ([texts[same[0]] for _, same in batch] for batch in batches)
        done = 0
        for batch, made in zip(batches, _made(embedder, asked, crew), strict=True):
            cache.put([hash_ for hash_, _ in batch], made)
            for (_, same), vector in zip(batch, made, strict=True):
                vectors[same] = vector
            done += len(batch)
            progress("embed", done, len(new))
        return Embedded(len(texts) - sum(map(len, unknown.values())), len(new))
    finally:
        cache.close()


def _made(embedder: Embedder, batches: Iterator[list[str]], crew: Crew) -> Iterator[Vectors]:
    """Embed each batch; the crew does it where the model can be loaded there, and sends nothing anywhere."""
    if isinstance(crew, Alone) or is_sending(embedder.model):
        return map(embedder.embed, batches)
    return crew.map(partial(_embed_there, embedder.model, embedder.versions), batches)


def _embed_there(model: str, versions: Mapping[str, str], texts: Sequence[str]) -> Vectors:
    """Embed in a helper; raises `StoreError` where it has the model in another version."""
    embedder = load_embedder(model)
    if embedder.versions != versions:
        raise StoreError("index.other_model_there", model=model, there=embedder.versions, here=dict(versions))
    return embedder.embed(texts)

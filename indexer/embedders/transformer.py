"""Sentence-transformers models run by torch: on a GPU where there is one, and to export them for ONNX Runtime."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils import logging as transformers_logging

from indexer.embed import Vectors, unit_rows
from indexer.embedders.export import have_export
from indexer.embedders.weights import ALIASES, model_folder
from indexer.errors import StoreError

OPSET = 17


class TorchEmbedder:
    """The model's own library; its vectors are those of the export, which answers the questions later.

    Named `torch:MODEL`, but an index made with it is one of `MODEL`: the weights make the vectors, not what runs them.
    """

    batch = 2048

    def __init__(self, model: str) -> None:
        self.model = ALIASES.get(model, model)
        exported, self.notice = have_export(self.model)
        self.versions, self.dimension = exported.versions, exported.dimension
        self._prompts = exported.document_prompt, exported.question_prompt
        self._encoder = load_transformer(self.model, device=None)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return what the model gives for passages, normalised."""
        return self._encode(texts, self._prompts[0])

    def embed_question(self, text: str) -> Vectors:
        """Return what the model gives for a question, normalised."""
        vector: Vectors = self._encode([text], self._prompts[1])[0]
        return vector

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        found = self._encoder.encode(list(texts), prompt=prompt or None, batch_size=64, show_progress_bar=False)
        vectors: Vectors = np.asarray(found, np.float32)
        vectors[[not text.strip() for text in texts]] = 0.0
        return unit_rows(vectors)


def load_transformer(model: str, device: str | None = "cpu") -> Any:
    """Load a model (None: on the best device here); raises `StoreError` when neither the disk nor the hub has it."""
    transformers_logging.disable_progress_bar()
    try:
        # Only this attention is made of operations that every exporter knows.
        settings = {"attn_implementation": "eager"} if device == "cpu" else {}
        encoder = SentenceTransformer(str(model_folder(model)), device=device, model_kwargs=settings)
    except (OSError, ValueError) as error:
        raise StoreError("index.no_model", model=model, reason=str(error).splitlines()[0]) from error
    return encoder.float().eval()


class _Whole(torch.nn.Module):  # type: ignore[misc]
    """Transformer, pooling and what else the model has, as one function of token ids."""

    def __init__(self, encoder: SentenceTransformer) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        found = self.encoder({"input_ids": input_ids, "attention_mask": attention_mask})
        out: torch.Tensor = found["sentence_embedding"]
        return out


def write_graph(encoder: SentenceTransformer, folder: Path) -> None:
    """Write `model.onnx` and `tokenizer.json`."""
    ids = torch.randint(5, 100, (2, 16))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0  # traced with padding, so that no branch without it is frozen into the graph
    lengths = {0: "texts", 1: "tokens"}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns of each shape it reads while tracing
        torch.onnx.export(
            _Whole(encoder), (ids, mask), str(folder / "model.onnx"),
            input_names=["input_ids", "attention_mask"], output_names=["vectors"],
            dynamic_axes={"input_ids": lengths, "attention_mask": lengths, "vectors": {0: "texts"}},
            opset_version=OPSET, dynamo=False,
        )  # fmt: skip
    encoder.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))

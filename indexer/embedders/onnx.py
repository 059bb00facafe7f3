"""Sentence-transformers models run by ONNX Runtime: a question needs neither torch nor their library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Tokenizer

from indexer.embed import Vectors, unit_rows
from indexer.embedders.export import have_export, quantised
from indexer.embedders.weights import ALIASES

# Padded tokens in one run. Larger runs leave the processor's cache: 512 was the fastest of 512 to 8,192 on two cores.
TOKENS_A_RUN = 512


class OnnxEmbedder:
    """A model exported once from its own weights; the first load exports it, which takes torch and some seconds."""

    batch = 512

    def __init__(self, model: str, *, int8: bool = False) -> None:
        name = ALIASES.get(model, model)
        self._exported, self.notice = have_export(name)
        self._graph = quantised(self._exported) if int8 else self._exported.graph
        self.model = f"int8:{name}" if int8 else name
        self.versions = self._exported.versions
        self.dimension = self._exported.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return what the model gives for passages, normalised."""
        return self._run([self._exported.document_prompt + text if text.strip() else "" for text in texts])

    def embed_question(self, text: str) -> Vectors:
        """Return what the model gives for a question, normalised."""
        vector: Vectors = self._run([self._exported.question_prompt + text if text.strip() else ""])[0]
        return vector

    def _run(self, texts: Sequence[str]) -> Vectors:
        """Run texts of like length together, so that little is spent on padding; an empty text is zero."""
        found = self._tokenizer.encode_batch_fast(texts)
        tokens = [encoding.ids if text else [] for text, encoding in zip(texts, found, strict=True)]
        out = np.zeros((len(texts), self.dimension), np.float32)
        for rows in _runs([len(ids) for ids in tokens]):
            ids, mask = _padded([tokens[row] for row in rows])
            (out[rows],) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
        return unit_rows(out)

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
        # Threads that wait do not spin: the other core is another job's.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(str(self._graph), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._exported.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._exported.tokens)
        return tokenizer


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield rows, shortest first, as many as fit into one run; rows without tokens are left out."""
    rows: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not lengths[row]:
            continue
        if rows and (len(rows) + 1) * lengths[row] > TOKENS_A_RUN:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


def _padded(tokens: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return token ids and the mask of those that are no padding."""
    ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
    mask = np.zeros_like(ids)
    for row, found in enumerate(tokens):
        ids[row, : len(found)] = found
        mask[row, : len(found)] = 1
    return ids, mask

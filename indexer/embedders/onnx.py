"""Sentence-transformers models run by ONNX Runtime: a question needs neither torch nor their library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Tokenizer

from indexer.crew import cores
from indexer.embed import Vectors, unit_rows
from indexer.embedders.export import have_export, quantised
from indexer.embedders.weights import ALIASES

# Padded tokens in one run. Larger runs leave the processor's cache: 512 was the fastest of 512 to 8,192 on two cores.
TOKENS_A_RUN = 512


class OnnxEmbedder:
    """A model exported once from its own weights; the first load exports it, which takes torch and some seconds.

    Each core does runs of its own: threads that share one wait for each other (a third more time on two cores).
    """

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
        # The longest first, so that no core has one left at the end.
        runs = list(_runs([len(ids) for ids in tokens]))[::-1]
        made = [[tokens[row] for row in rows] for rows in runs]
        for rows, vectors in zip(runs, self._each(made), strict=True):
            out[rows] = vectors
        return unit_rows(out)

    def _each(self, runs: Sequence[Sequence[Sequence[int]]]) -> list[Vectors]:
        session = self._session

        def vectors_of(tokens: Sequence[Sequence[int]]) -> Vectors:
            ids, mask = _padded(tokens)
            return np.asarray(session.run(None, {"input_ids": ids, "attention_mask": mask})[0])

        if len(runs) < 2:  # a question needs no threads
            return [vectors_of(run) for run in runs]
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(vectors_of, runs))

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
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

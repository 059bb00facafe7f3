"""Operations of dialects that are not indexed: one of the same last name elsewhere is another operation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retriever.search import Index

# Which corpus defines a dialect: Triton's of include/triton/Dialect, MLIR's of mlir/include/mlir/Dialect.
_CORPORA = {
    "triton": ("tt", "ttg", "ttng", "triton_gpu", "triton_nvidia_gpu", "proton"),
    "mlir": (
        "affine", "amdgpu", "arith", "bufferization", "cf", "complex", "func", "gpu", "index", "linalg", "llvm",
        "math", "memref", "nvgpu", "nvvm", "omp", "rocdl", "scf", "shape", "sparse_tensor", "spirv", "tensor", "tosa",
        "transform", "ub", "vector",
    ),
}  # fmt: skip
_CORPUS_OF = {dialect: corpus for corpus, dialects in _CORPORA.items() for dialect in dialects}
_OP = re.compile(r"(?<![\w./-])(?P<dialect>[a-z_]+)\.[a-z_][a-z_0-9]*(?:\.[a-z_0-9]+)*(?![\w./(])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stranger:
    """An operation in a question, and the corpus that would have to be indexed to tell of it."""

    op: str
    corpus: str


def strangers(index: Index, question: str) -> list[Stranger]:
    """Return the operations in `question` of dialects that are not indexed, one of each dialect's corpus."""
    found: dict[str, Stranger] = {}
    for m in _OP.finditer(question):
        corpus = _CORPUS_OF.get(m["dialect"])
        if corpus is not None and corpus not in found and not _defined(index, m["dialect"]):
            found[corpus] = Stranger(m[0], corpus)
    return list(found.values())


def _defined(index: Index, dialect: str) -> bool:
    return any(name.startswith(f"{dialect}.") for name in index.generation.shelf.names("op"))

"""Models exported for ONNX Runtime, kept under the data folder: made once by torch, read without it."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer.embedders.weights import model_folder
from indexer.errors import StoreError
from indexer.home import data_home
from indexer.messages import Message, message

# Raised whenever the same weights would be exported to another graph.
EXPORT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Exported:
    """A model's graph and tokenizer, and what is to be known about them.

    `versions` tell the vectors' make; `source` the size and time of the weights it was made from.
    """

    folder: Path
    versions: dict[str, str]
    dimension: int
    tokens: int
    question_prompt: str
    document_prompt: str
    source: str

    @property
    def graph(self) -> Path:
        """Return the file that ONNX Runtime loads."""
        return self.folder / "model.onnx"

    @property
    def tokenizer(self) -> Path:
        """Return the file that `tokenizers` loads."""
        return self.folder / "tokenizer.json"


def have_export(model: str) -> tuple[Exported, Message | None]:
    """Return a model's export, made now where there is none, and then what to tell of it.

    Raises `StoreError` when it cannot be had, or the disk refuses.
    """
    if (found := find_export(model)) is not None:
        return found, None
    made = make_export(model)
    return made, message("embed.exported", model=model, folder=made.folder)


def find_export(model: str) -> Exported | None:
    """Return a model's export, None where there is none, or its weights are other ones now."""
    folder = _folder(model)
    try:
        table = json.loads((folder / "export.json").read_text(encoding="utf-8"))
        if table.pop("export_version") != EXPORT_VERSION:
            return None
        found = Exported(folder, **table)
    except (OSError, ValueError, TypeError, KeyError):  # none, or one that was damaged: it can be made again
        return None
    return found if not Path(model).is_dir() or found.source == _stamp(Path(model)) else None


def make_export(model: str) -> Exported:
    """Export a model with torch; raises `StoreError` when it cannot be had, or the disk refuses."""
    from indexer.embedders.transformer import load_transformer, write_graph  # noqa: PLC0415 - imports torch

    source = model_folder(model)
    encoder = load_transformer(model)
    folder = _folder(model)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            write_graph(encoder, made)
            table = _facts(encoder, source)
            (made / "export.json").write_text(json.dumps({"export_version": EXPORT_VERSION, **table}, indent=1))
            shutil.rmtree(folder, ignore_errors=True)
            made.replace(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise StoreError("index.cannot_write", path=folder, reason=error) from error
    return Exported(folder, **table)


def quantised(exported: Exported) -> Path:
    """Return the graph with weights of eight bits, made on first use: a quarter of the size, and faster."""
    path = exported.folder / "model.int8.onnx"
    if not path.exists():
        from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - imports onnx

        made = path.with_suffix(f".{os.getpid()}")
        try:
            logging.disable(logging.WARNING)  # it advises, on the root logger, a step that changes nothing here
            quantize_dynamic(exported.graph, made, weight_type=QuantType.QInt8)
            made.replace(path)
        except OSError as error:
            raise StoreError("index.cannot_write", path=path, reason=error) from error
        finally:
            logging.disable(logging.NOTSET)
    return path


def _facts(encoder: Any, source: Path) -> dict[str, Any]:
    """Return what `Exported` holds besides its folder."""
    prompts = encoder.prompts or {}
    tokens = int(encoder.max_seq_length or encoder.tokenizer.model_max_length)
    return {
        "versions": {"weights": weights_digest(source), "tokens": str(tokens)},
        "dimension": int(encoder.get_embedding_dimension() or 0),
        "tokens": tokens,
        "question_prompt": prompts.get("query", ""),
        "document_prompt": prompts.get("document", ""),
        "source": _stamp(source),
    }


def weights_digest(folder: Path) -> str:
    """Return the start of the SHA-256 of a model's weights and tokenizer."""
    digest = hashlib.sha256()
    for path in _weights(folder):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()[:16]


def _stamp(folder: Path) -> str:
    """Return what changes when the weights do, without reading them."""
    return " ".join(f"{p.name}:{p.stat().st_size}:{p.stat().st_mtime_ns}" for p in _weights(folder))


def _weights(folder: Path) -> list[Path]:
    kinds = {".safetensors", ".bin"}
    return sorted(p for p in folder.rglob("*") if p.suffix in kinds or p.name == "tokenizer.json")


def _folder(model: str) -> Path:
    """Return where a model's export lies: a readable name, made unlike others' by a hash."""
    short = re.sub(r"[^\w.-]+", "-", model).strip("-.")[-60:]
    return data_home() / "models" / f"{short}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"

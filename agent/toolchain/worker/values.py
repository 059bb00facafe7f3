"""Python values with tensors in them <-> JSON and raw storages; no pickle anywhere."""

from __future__ import annotations

from typing import Any

import torch

# Another kind of tensor may compute what it holds only when it is asked, after the host has been timed.
_TENSORS = (torch.Tensor, torch.nn.Parameter)


class Encoder:
    """Collects the storages of the tensors it meets; two views of one storage stay views of one."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self._seen: dict[int, int] = {}
        self._kept: list[torch.UntypedStorage] = []

    def encode(self, value: Any) -> Any:
        """Encode a nested value; what is neither plain nor a tensor is named by its repr."""
        if type(value) in _TENSORS:
            return self._tensor(value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, torch.dtype):
            return {"kind": "dtype", "name": str(value).removeprefix("torch.")}
        if isinstance(value, tuple | list):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {"kind": kind, "items": [self.encode(item) for item in value]}
        if isinstance(value, dict):
            return {"kind": "dict", "items": [[str(k), self.encode(v)] for k, v in value.items()]}
        if isinstance(value, torch.device):
            return {"kind": "device"}
        return {"kind": "opaque", "text": repr(value)[:200]}

    def _tensor(self, value: torch.Tensor) -> dict[str, Any]:
        tensor = value.detach()
        if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
            tensor = tensor.to_dense().resolve_conj().resolve_neg() if tensor.is_sparse else tensor.clone()
        storage = tensor.untyped_storage()
        key = storage.data_ptr() or id(storage)
        if key not in self._seen:
            self._seen[key] = len(self.blobs)
            self._kept.append(storage)
            raw = torch.empty(0, dtype=torch.uint8).set_(storage)
            self.blobs.append(bytes(raw.numpy()))
        return {
            "kind": "tensor",
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "strides": list(tensor.stride()),
            "offset": tensor.storage_offset(),
            "blob": self._seen[key],
        }


class Decoder:
    """Makes values of what an `Encoder` (here or in tritonkb) wrote."""

    def __init__(self, blobs: list[bytes]) -> None:
        self._blobs = blobs
        self._storages: dict[int, torch.UntypedStorage] = {}

    def decode(self, value: Any) -> Any:
        """Decode one value; each blob is one storage, shared by all tensors that name it."""
        if not isinstance(value, dict):
            return value
        kind = value["kind"]
        if kind == "tensor":
            return self._tensor(value)
        if kind == "dtype":
            return getattr(torch, value["name"])
        if kind == "device":
            return torch.device("cpu")
        if kind == "dict":
            return {k: self.decode(v) for k, v in value["items"]}
        items = [self.decode(item) for item in value["items"]]
        return tuple(items) if kind == "tuple" else items

    def _tensor(self, value: dict[str, Any]) -> torch.Tensor:
        dtype, shape = getattr(torch, value["dtype"]), tuple(value["shape"])
        storage = self._storage(value["blob"])
        return torch.empty(0, dtype=dtype).set_(storage, value["offset"], shape, tuple(value["strides"]))

    def _storage(self, index: int) -> torch.UntypedStorage:
        if index not in self._storages:
            raw = bytearray(self._blobs[index])
            # A copy in torch's own memory, which is aligned to 64 bytes as a compiled kernel may expect.
            flat = torch.frombuffer(raw, dtype=torch.uint8).clone() if raw else torch.empty(0, dtype=torch.uint8)
            self._storages[index] = flat.untyped_storage()
        return self._storages[index]

"""Lends a kernel copies of its tensors with zones around them, so that a stray access harms nothing and shows."""

from __future__ import annotations

from typing import Any

import torch
from triton.runtime.jit import TensorWrapper

# A masked-out lane's block may reach this far beside a tensor without meeting another one.
ZONE_BYTES = 64 << 10
# A NaN of every float type, and an index far outside: what was read there shows in the results.
_FILL = 0xFF


class Loan:
    """The copies of one launch: one a storage, so that tensors that share memory go on sharing it."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[torch.Tensor, torch.Tensor, str]] = {}

    def lend(self, name: str, value: Any) -> Any:
        """Return a view like `value` of a copy of its storage; other values are returned as they are."""
        if isinstance(value, TensorWrapper):
            return TensorWrapper(self._lend(name, value.base), value.dtype)
        return self._lend(name, value) if isinstance(value, torch.Tensor) else value

    def _lend(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if not storage.nbytes():
            return tensor
        if storage.data_ptr() not in self._copies:
            own = torch.empty(0, dtype=torch.uint8).set_(storage)
            copy = torch.full((own.numel() + 2 * ZONE_BYTES,), _FILL, dtype=torch.uint8)
            copy[ZONE_BYTES:-ZONE_BYTES] = own
            self._copies[storage.data_ptr()] = (own, copy, name)
        copy = self._copies[storage.data_ptr()][1]
        offset = tensor.storage_offset() + ZONE_BYTES // tensor.element_size()
        empty = torch.empty(0, dtype=tensor.dtype)
        return empty.set_(copy.untyped_storage(), offset, tensor.shape, tensor.stride())

    def settle(self) -> list[str]:
        """Write the results back; return the names of the arguments outside which something was written."""
        strays = []
        for own, copy, name in self._copies.values():
            own.copy_(copy[ZONE_BYTES:-ZONE_BYTES])
            if not bool((copy[:ZONE_BYTES] == _FILL).all() and (copy[-ZONE_BYTES:] == _FILL).all()):
                strays.append(name)
        return strays

"""Kernel files on the device: loading one, its inputs moved there as they are, its reference in double precision."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch


def load(path: Path) -> ModuleType:
    """Run the top level of a kernel file as a module of its own name."""
    name = "kernel_" + "_".join(path.with_suffix("").parts[-3:])
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def shapes_of(module: ModuleType) -> list[Any]:
    """Return the sizes that the file offers, the first being the one that is timed."""
    return list(getattr(module, "SHAPES", [None]))


def inputs_of(module: ModuleType, seed: int, shape: Any) -> tuple[Any, ...]:
    """Let the file make its inputs, on the CPU."""
    made = module.make_inputs(seed) if shape is None else module.make_inputs(seed, shape)
    return tuple(made)


def moved(inputs: tuple[Any, ...], device: str) -> tuple[Any, ...]:
    """Move tensors to the device; strides, offsets and shared storage stay what they are."""
    storages: dict[int, Any] = {}

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()
        if storage.data_ptr() not in storages:
            flat = torch.empty(0, dtype=torch.uint8).set_(storage)
            storages[storage.data_ptr()] = flat.to(device).untyped_storage()
        empty = torch.empty(0, dtype=value.dtype, device=device)
        return empty.set_(storages[storage.data_ptr()], value.storage_offset(), value.shape, value.stride())

    return tuple(move(value) for value in inputs)


def copied(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return copies that a host may overwrite, with the same strides."""
    return tuple(
        torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device=v.device).copy_(v)
        if isinstance(v, torch.Tensor)
        else v
        for v in inputs
    )


def widened(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return copies with floats in double precision."""
    return tuple(
        (v.double() if v.is_floating_point() else v.clone()) if isinstance(v, torch.Tensor) else v for v in inputs
    )


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Return the tensors of an output, depth first."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_of(item)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []


def poisoned(call: Callable[[], Any]) -> Any:
    """Call with memory from `torch.empty` filled: NaN in floats, the largest value in integers."""
    torch.use_deterministic_algorithms(True, warn_only=True)  # noqa: FBT003 - PyTorch's own signature
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        return call()
    finally:
        torch.use_deterministic_algorithms(False)  # noqa: FBT003

"""Runs a host for real on the CPU, in the sandbox: its inputs, its outputs with compiled kernels, its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.capture import CapturedLaunch, job_of, read_launch
from agent.records import KernelSource, Launch
from agent.toolchain.client import Worker
from agent.values import HostTensor, decode, tensors_of


@dataclass(frozen=True, slots=True)
class Inputs:
    """What one run is fed with; kept in wire form, so that memory layout and aliasing survive.

    `shapes` counts the entries of SHAPES (1 without). `initial` and `values` are what a model is made and called with.
    """

    seed: int
    shape_index: int
    shapes: int
    has_reference: bool
    tree: Mapping[str, Any]
    blobs: Sequence[bytes]

    @property
    def tensors(self) -> list[HostTensor]:
        """Return the tensors that the host is called with, in order."""
        return tensors_of(decode(self.tree["inputs"], self.blobs))


@dataclass(frozen=True, slots=True)
class Executed:
    """The host ran to its end: `outputs` is nested as the host returned it.

    `changed` maps the position of an input tensor (among all input tensors) to its new content, where it changed.
    Memory from `torch.empty` was poisoned: NaN, or the least integer.
    """

    outputs: Any
    changed: Mapping[int, HostTensor]
    launches: tuple[Launch, ...]
    output: str
    seconds: float
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LibrariesMissing:
    """The host launched what no library was given for: compile these, then execute again."""

    launches: tuple[CapturedLaunch, ...]
    printed_file: str


@dataclass(frozen=True, slots=True)
class Referred:
    """What the reference computed; `upcast` tells that it ran in float64."""

    outputs: Any
    upcast: bool


def make_inputs(worker: Worker, source: KernelSource, target: str, *, seed: int = 0, shape_index: int = 0) -> Inputs:
    """Call the file's own `make_inputs` (or `get_inputs`); pass the original file, which a candidate cannot change.

    Raises `BadInput` when the file makes no inputs or raises.
    """
    fields, blobs = job_of(source, target)
    reply = worker.request("inputs", {**fields, "seed": seed, "shape_index": shape_index}, blobs)
    tree = {"inputs": reply.fields["inputs"], "initial": reply.fields["initial"]}
    return Inputs(seed, shape_index, reply.fields["shapes"], reply.fields["has_reference"], tree, reply.blobs)


def execute(
    worker: Worker, source: KernelSource, target: str, inputs: Inputs | None, libraries: Mapping[str, Path]
) -> Executed | LibrariesMissing:
    """Run the host of `source` on `inputs` (None: a script, which has its own); `libraries` are by launch key.

    With an interpreter worker no libraries are needed. Of an autotune group the configuration that has a library runs.
    Raises `BadInput` when the host raises or crashes, `SandboxError` at a limit.
    """
    fields, blobs = _with_inputs(source, target, inputs)
    places = {key: len(blobs) + i for i, key in enumerate(libraries)}
    compiled = [path.read_bytes() for path in libraries.values()]
    reply = worker.request("execute", {**fields, "libraries": places}, [*blobs, *compiled])
    read = [read_launch(item, source.path, reply.fields["printed_file"]) for item in reply.fields["launches"]]
    if reply.status == "missing":
        return LibrariesMissing(tuple(read), reply.fields["printed_file"])
    changed = {int(i): decode(tree, reply.blobs) for i, tree in reply.fields["changed"].items()}
    return Executed(
        outputs=decode(reply.fields["outputs"], reply.blobs),
        changed=changed,
        launches=tuple(item.launch for item in read),
        output=reply.output,
        seconds=float(reply.fields["seconds"]),
        layers=worker.layers,
    )


def run_reference(worker: Worker, source: KernelSource, target: str, inputs: Inputs) -> Referred:
    """Run the file's `reference` (or `Model`), in float64 where it goes; raises `BadInput` where there is none."""
    reply = worker.request("reference", *_with_inputs(source, target, inputs))
    return Referred(decode(reply.fields["outputs"], reply.blobs), bool(reply.fields["upcast"]))


def _with_inputs(source: KernelSource, target: str, inputs: Inputs | None) -> tuple[dict[str, Any], list[bytes]]:
    fields, blobs = job_of(source, target)
    nothing = {"kind": "tuple", "items": []}
    if inputs is None:
        return {**fields, "inputs": nothing, "initial": nothing, "seed": 0}, blobs
    moved = {name: _shift(tree, len(blobs)) for name, tree in inputs.tree.items()}
    return {**fields, **moved, "seed": inputs.seed}, [*blobs, *inputs.blobs]


def _shift(tree: Any, by: int) -> Any:
    """Renumber the blobs of a wire value that travels behind others."""
    if isinstance(tree, dict):
        return {name: value + by if name == "blob" else _shift(value, by) for name, value in tree.items()}
    return [_shift(item, by) for item in tree] if isinstance(tree, list) else tree

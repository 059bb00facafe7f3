"""Runs a host on given inputs in the sandbox, its kernels as compiled Linalg IR or in Triton's interpreter."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent.capture import job_of
from agent.records import KernelSource
from agent.sandbox import is_limit
from agent.toolchain.client import Reply, Worker, printable
from agent.toolchain.targets import Device
from agent.verify.builds import Builder
from agent.verify.layouts import renumbered
from agent.verify.linalg import NotBuilt
from agent.verify.values import Malformed, Values, check_tree
from indexer.errors import BadInput, SandboxError, ToolchainError
from indexer.messages import Message, message

Level = Literal["linalg_cpu", "interpreter", "device", "none"]
# A host may launch a kernel only after it saw another's results; each such step needs a round of building.
_BUILD_ROUNDS = 8
# The toolchain's errors that a host can cause: an answer that is none of ours, or a worker that it killed, twice.
_HOSTS_DOING = frozenset({"worker.nonsense", "worker.died"})


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a host is called with: `initial` for a model's constructor and `given`, two trees over one set of storages.

    `shapes` is how many sizes the file offers, `has_reference` whether it says what is right.
    """

    initial: Any
    given: Values
    shapes: int
    has_reference: bool

    def replaced(self, given: Values) -> Inputs:
        """Return the same inputs with other storages."""
        return dataclasses.replace(self, given=given)


_NO_INPUTS = Inputs({"kind": "tuple", "items": []}, Values({"kind": "tuple", "items": []}, []), 1, has_reference=False)


@dataclass(frozen=True, slots=True)
class Ran:
    """The host ended: what it returned, which inputs it changed (by number), how often it launched.

    `strays` names the kernels' arguments (`kernel.argument`) outside which something was written. `configs` is the
    most configurations that an autotuner had, 0 without one. `work` counts the elements that torch's operations took
    or gave in the host, by name; `broken` names what results go through and the host replaced or left running; `reused`
    says that a second call gave out memory that the first caller still holds.
    """

    outputs: Values
    changed: Mapping[int, Values]
    launches: int
    strays: tuple[str, ...] = ()
    configs: int = 0
    work: Mapping[str, int] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    reused: bool = False


@dataclass(frozen=True, slots=True)
class Referred:
    """What the file's reference gave.

    `whole` are the inputs that it reads whole, and `product_flops` the operations of its matrix products, as far as it
    needs all of them: then so does a kernel.
    """

    outputs: Values
    whole: tuple[int, ...] = ()
    product_flops: int = 0


@dataclass(frozen=True, slots=True)
class How:
    """How a host is run beside its inputs: with which other inputs it is called `before`, in the same process.

    `config` is the number of the configuration that autotuners take.
    """

    before: Values | None = None
    config: int = 0


PLAINLY = How()


@dataclass(frozen=True, slots=True)
class Broke:
    """The host raised, crashed or was refused.

    `limit`: it is not the host's fault, as far as we can tell: time, memory, or what the interpreter does not know.
    """

    note: Message
    limit: bool = False


class Runner(Protocol):
    """A way to run hosts."""

    level: Level

    def run(self, source: KernelSource, inputs: Inputs, seed: int, how: How = PLAINLY) -> Ran | Broke | NotBuilt:
        """Run the host of `source`; its kernels never run outside the sandbox."""


class InterpreterRunner:
    """Runs kernels in Triton's interpreter: what the language says, slowly, and nothing of the compilers."""

    level: Level = "interpreter"

    def __init__(self, worker: Worker, target: Device) -> None:
        self.worker, self.target = worker, target

    def run(self, source: KernelSource, inputs: Inputs, seed: int, how: How = PLAINLY) -> Ran | Broke | NotBuilt:
        """Run the host of `source`."""
        reply = _ask(self.worker, "execute", source, self.target, *_job(inputs, seed, {}, how))
        if isinstance(reply, Broke):
            return dataclasses.replace(reply, limit=reply.limit or "InterpreterError" in str(reply.note.values))
        return _read_run(reply, len(inputs.given.tensors()))


class LinalgRunner:
    """Runs kernels as the Linalg IR that the Ascend compilers receive, built once for each launch."""

    level: Level = "linalg_cpu"

    def __init__(self, worker: Worker, builder: Builder) -> None:
        self.worker, self.builder = worker, builder

    def run(self, source: KernelSource, inputs: Inputs, seed: int, how: How = PLAINLY) -> Ran | Broke | NotBuilt:
        """Run the host of `source`, building the kernels that it turns out to launch."""
        target = self.builder.target
        for _ in range(_BUILD_ROUNDS):
            libraries = self.builder.libraries(source)
            reply = _ask(self.worker, "execute", source, target, *_job(inputs, seed, libraries, how))
            if isinstance(reply, Broke):
                return reply
            if reply.status != "missing":
                return _read_run(reply, len(inputs.given.tensors()))
            try:
                failed = self.builder.build(source, reply.fields["launches"])
            except (KeyError, TypeError, ValueError, AttributeError) as error:  # the host wrote the answer itself
                return Broke(message("verify.nonsense", problem=printable(str(error))))
            if failed is not None:
                return failed
        return NotBuilt(message("verify.too_many_rounds", rounds=_BUILD_ROUNDS))


def make_inputs(worker: Worker, source: KernelSource, target: Device, seed: int, shape: int) -> Inputs | Broke:
    """Let the file make its inputs for one seed and one of its shapes; a script makes its own as it runs."""
    reply = _ask(worker, "inputs", source, target, {"seed": seed, "shape_index": shape}, [])
    if isinstance(reply, Broke):
        return _NO_INPUTS if reply.note.key == "capture.no_inputs" else reply
    fields = reply.fields
    given = Values(fields["inputs"], reply.blobs)
    return Inputs(fields["initial"], given, int(fields["shapes"]), bool(fields["has_reference"]))


def run_reference(worker: Worker, source: KernelSource, target: Device, inputs: Inputs, seed: int) -> Referred | Broke:
    """Run the file's own reference, in float64 where it can."""
    fields = {"seed": seed, "inputs": inputs.given.tree, "initial": inputs.initial}
    reply = _ask(worker, "reference", source, target, fields, list(inputs.given.blobs))
    if isinstance(reply, Broke):
        return reply
    whole = tuple(map(int, reply.fields["whole"]))
    return Referred(Values(reply.fields["outputs"], reply.blobs), whole, int(reply.fields["product_flops"]))


def _job(inputs: Inputs, seed: int, libraries: Mapping[str, bytes], how: How) -> tuple[dict[str, Any], list[bytes]]:
    blobs = list(inputs.given.blobs)
    before = None if how.before is None else renumbered(how.before.tree, len(blobs))
    blobs += [] if how.before is None else how.before.blobs
    numbers = {key: len(blobs) + i for i, key in enumerate(libraries)}
    fields = {"seed": seed, "inputs": inputs.given.tree, "initial": inputs.initial, "libraries": numbers}
    return {**fields, "before": before, "config": how.config}, [*blobs, *libraries.values()]


def _ask(
    worker: Worker, job: str, source: KernelSource, target: Device, fields: dict[str, Any], blobs: list[bytes]
) -> Reply | Broke:
    common, companions = job_of(source, target.name)
    names = {name: len(blobs) + index for name, index in common.get("companions", {}).items()}
    try:
        return worker.request(job, {**common, **fields, "companions": names}, [*blobs, *companions])
    except BadInput as error:
        return Broke(error.note)
    except ToolchainError as error:
        if error.note.key not in _HOSTS_DOING:
            raise
        return Broke(error.note)
    except SandboxError as error:
        if not is_limit(error):
            raise
        return Broke(error.note, limit=True)


def _read_run(reply: Reply, inputs: int) -> Ran | Broke:
    """Read what the host's process says of its run with so many tensors; a host may have written that itself."""
    fields = reply.fields
    try:
        check_tree(fields["outputs"], len(reply.blobs))
        for number, tree in fields["changed"].items():
            check_tree(tree, len(reply.blobs))
            if not 0 <= int(number) < inputs or tree.get("kind") != "tensor":
                raise Malformed(f"input {number}")
        changed = {int(number): Values(tree, reply.blobs) for number, tree in fields["changed"].items()}
        launches = sum(int(item["count"]) for item in fields["launches"])
        return Ran(
            Values(fields["outputs"], reply.blobs),
            changed,
            launches,
            tuple(fields["strays"]),
            int(fields["configs"]),
            {str(name): int(count) for name, count in fields["work"].items()},
            tuple(map(str, fields["broken"])),
            bool(fields["reused"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return Broke(message("verify.nonsense", problem=printable(str(error))))

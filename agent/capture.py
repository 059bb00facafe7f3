"""A kernel file -> its launches as the host makes them, each with TTIR; no device, and no kernel runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent.records import Argument, Diagnostic, KernelSource, Launch, ScalarArgument, TensorArgument
from agent.toolchain.client import Reply, Worker
from agent.toolchain.cuda_targets import CudaTarget
from agent.toolchain.targets import Device, find_device
from indexer.errors import BadInput

# A host with more Python beside it than this belongs in an environment.
COMPANION_LIMIT_BYTES = 8 << 20
Form = Literal["functions", "model", "script", "constants", "bare"]
# One model of each compiler, for callers that name only the compiler.
_MODEL = {"a3": "ascend910b3", "a5": "ascend950"}


@dataclass(frozen=True, slots=True)
class CapturedLaunch:
    """A launch with its TTIR (locations included), or with the diagnostic of the front end that refused it."""

    launch: Launch
    ttir: str | None
    diagnostic: Diagnostic | None


@dataclass(frozen=True, slots=True)
class HostStop:
    """What the host raised after its launches were recorded; a check of results that nobody computed, often."""

    exception: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Capture:
    """All distinct launches of one host. `printed_file` is the path under which locations name the user's file.

    `shapes_only` tells that the host ran on tensors without values, because they were too large to compute.
    """

    form: Form
    printed_file: str
    launches: tuple[CapturedLaunch, ...]
    output: str
    stopped: HostStop | None = None
    shapes_only: bool = False


def capture(worker: Worker, source: KernelSource, target_arch: str) -> Capture:
    """Record the launches that the host of `source` makes for a target (`ascend910b3`) or a compiler (`a3`, `a5`).

    Raises `BadInput` (syntax, no kernel, no launch, the host raises, an unknown kernel, an ambiguous form, a bad
    signature), `SandboxError` for an endless host or too much memory, `ToolchainError` when the worker dies.
    """
    reply = worker.request("capture", *job_of(source, target_arch))
    try:
        return _read_capture(reply, source)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
        raise worker.nonsense(str(problem)) from problem


def _read_capture(reply: Reply, source: KernelSource) -> Capture:
    fields = reply.fields
    stopped = fields["stopped"]
    return Capture(
        form=fields["form"],
        printed_file=fields["printed_file"],
        launches=tuple(read_launch(item, source.path, fields["printed_file"]) for item in fields["launches"]),
        output=reply.output,
        stopped=None if stopped is None else HostStop(stopped["exception"], stopped["text"], stopped["line"]),
        shapes_only=fields["tensors"] == "meta",
    )


def job_of(source: KernelSource, target_arch: str) -> tuple[dict[str, Any], list[bytes]]:
    """Give the fields of a job on `source`, and its blobs: the modules beside the file that it imports."""
    target = find_device(_MODEL.get(target_arch, target_arch))
    entry, companions = source.entry, find_companions(source)
    return {
        "name": source.path.name,
        "path": str(source.path),
        "text": source.text,
        "chip": target.chip,
        "cores": _cores(target),
        "options": {"compile_on_910_95": True} if target.arch == "a5" else {},
        "entry": {
            "function": entry.function,
            "kernel": entry.kernel,
            "signature": list(entry.signature),
            "constexprs": dict(entry.constexprs),
            "grid": None if entry.grid is None else list(entry.grid),
        },
        "companions": {name: i for i, name in enumerate(companions)},
    }, list(companions.values())


def _cores(target: Device) -> list[int]:
    """Give the cores for matrices and for vectors that a host may ask for."""
    if isinstance(target, CudaTarget):
        return [target.multiprocessors] * 2
    return [target.cube_cores, target.vector_cores]


def find_companions(source: KernelSource) -> dict[str, bytes]:
    """Read the modules beside the file that it imports, and those that they import: relative path -> content.

    Only plain modules and packages of the same folder count, and 8 MiB in all; the text is parsed, never run.
    """
    folder = source.path.absolute().parent
    found: dict[str, bytes] = {}
    texts = [source.text]
    while texts:
        for name in _imported(texts.pop()):
            for path in _files_of(folder, name):
                key = path.relative_to(folder).as_posix()
                if key in found or path == source.path.absolute():
                    continue
                found[key] = path.read_bytes()
                texts.append(found[key].decode(errors="replace"))
        if sum(map(len, found.values())) > COMPANION_LIMIT_BYTES:
            raise BadInput("capture.companions", path=source.path, mebibytes=COMPANION_LIMIT_BYTES >> 20)
    return found


def _imported(text: str) -> set[str]:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return set()  # the worker says what is wrong with it
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.partition(".")[0] for name in names}


def _files_of(folder: Path, name: str) -> list[Path]:
    module, package = folder / f"{name}.py", folder / name / "__init__.py"
    if package.is_file():
        return sorted(package.parent.rglob("*.py"))
    return [module] if module.is_file() else []


def read_launch(item: dict[str, Any], path: Path, printed_file: str) -> CapturedLaunch:
    """Turn the wire form of a launch into records."""
    said = item.get("diagnostic")
    launch = Launch(
        kernel=item["kernel"],
        file=_user_file(item["file"], path, printed_file),
        line=item["line"],
        signature=item["signature"],
        constexprs=item["constexprs"],
        grid=(item["grid"][0], item["grid"][1], item["grid"][2]),
        options=item["options"],
        arguments=tuple(_read_argument(argument) for argument in item["arguments"]),
        group=item["group"],
        count=item["count"],
        data_dependent=item["data_dependent"],
        key=item["key"],
        aligned=tuple(item.get("divisible_by_16", ())),
    )
    diagnostic = None if said is None else Diagnostic("error", said["message"], said["line"] or None, "ttir")
    return CapturedLaunch(launch, item.get("ttir"), diagnostic)


def _user_file(file: str, path: Path, printed_file: str) -> Path:
    """Give the user's name of a file that the worker saw: the kernel file, or a module beside it."""
    folder = Path(printed_file).parent
    if file == printed_file or not Path(file).is_relative_to(folder):
        return path if file == printed_file else Path(file)
    return path.parent / Path(file).relative_to(folder)


def _read_argument(item: dict[str, Any]) -> Argument:
    if "shape" in item:
        return TensorArgument(item["name"], item["dtype"], tuple(item["shape"]), tuple(item["strides"]))
    return ScalarArgument(item["name"], item["dtype"], item["value"])

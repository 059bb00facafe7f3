"""TTIR -> TTGIR -> LLVM -> PTX -> SASS with upstream Triton in the worker, every pass kept; no device needed."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.records import Compilation, Diagnostic, GpuResources, Launch, Resources, Stage
from agent.toolchain.client import Reply, Worker
from agent.toolchain.cuda_install import CudaInstall
from agent.toolchain.cuda_ptx import Usage, read_ptx, read_usage
from agent.toolchain.cuda_targets import CudaTarget, occupancy
from agent.toolchain.workspace import results_folder
from indexer.errors import ToolchainError
from indexer.ir.blame import SOURCE
from indexer.ir.records import Snapshot
from indexer.ir.snapshots import Dump, PassRun, compose, count_ops
from indexer.messages import message, render

# What a compilation for CUDA has none of.
NO_ASCEND_MEMORIES = Resources(None, 0, None, 0, None, 0)
COMPILER = "triton"
# The assembler, as attribution names it: it is no pass, and decides about registers.
ASSEMBLER = "ptxas"
# Shown of an assembler's or a front end's own words.
_SAID_CHARS = 600
_PLACE = re.compile(r'loc\("[^"]*"\((?P<inner>.*)\)\)|"(?P<file>[^"]+)":(?P<line>\d+):\d+')
_SASS_SECONDS = 60


@dataclass(frozen=True, slots=True)
class _Answer:
    """The worker's answer with its blobs sorted: the states as dumps, the texts by name."""

    fields: Mapping[str, Any]
    dumps: Sequence[tuple[Dump, int]]
    texts: Mapping[str, str]
    cubin: bytes


def compile_cuda(  # noqa: PLR0913 - one call takes what a launch, a target and a run need
    worker: Worker,
    ttir: str,
    launch: Launch,
    target: CudaTarget,
    printed_file: str,
    out: Path | None,
    *,
    every_pass: bool = True,
) -> Compilation:
    """Lower `ttir` for `target` and return its stages, what a program holds, its PTX, and what the compiler said.

    Without `every_pass` the stages end with TTGIR: listing those of the LLVM dialect doubles the time. IR files stay in
    `out`. A kernel that is rejected gives a rejected `Compilation`.

    Raises `ToolchainError` when the worker dies or answers what cannot be read, `SandboxError` at a limit.
    """
    started = time.monotonic()
    fields = {"capability": target.capability, "options": dict(launch.options), "every_pass": every_pass}
    answer = _read(worker, worker.request("lower", {**fields, "name": launch.kernel}, [ttir.encode()]))
    snapshots = _compose(answer.dumps, printed_file)
    gpu = _resources(answer, target)
    failure = _failure(answer, launch, target, gpu, printed_file)
    reached = answer.texts.get("ttgir") is not None
    return Compilation(
        launch=launch,
        target=target.name,
        status="rejected" if failure else "ok",
        stages=tuple(_stages(answer, snapshots)),
        snapshots=snapshots,
        resources=NO_ASCEND_MEMORIES,
        diagnostics=tuple(failure),
        files=_keep(answer, ttir, results_folder(out), dumped=out is not None),
        hivm=snapshots[-1] if reached and not failure else None,
        seconds=time.monotonic() - started,
        gpu=gpu,
        machine=read_ptx(answer.texts["ptx"], printed_file) if "ptx" in answer.texts else (),
    )


def _read(worker: Worker, reply: Reply) -> _Answer:
    fields = reply.fields
    try:
        places = [int(place) for place in fields["states"]]
        names = [str(name) for name in fields["texts"]]
        passes = [str(name) for name in fields["passes"]]
        blobs = [blob.decode() for blob in reply.blobs[: len(places) + len(names)]]
        states = zip(places, blobs, strict=False)
        dumps = [
            (Dump(PassRun(SOURCE if place < 0 else passes[place]), COMPILER, text, f"{place + 1:04}"), place + 1)
            for place, text in states
        ]
        texts = dict(zip(names, blobs[len(places) :], strict=True))
    except (KeyError, ValueError, IndexError, TypeError) as problem:
        raise worker.nonsense(str(problem)) from problem
    rest = reply.blobs[len(places) + len(names) :]
    return _Answer(fields, dumps, texts, rest[0] if rest else b"")


def _compose(dumps: Sequence[tuple[Dump, int]], printed_file: str) -> tuple[Snapshot, ...]:
    try:
        return tuple(compose(dumps, printed_file))
    except ValueError as error:
        raise ToolchainError("compile.bad_dump", error=str(error)) from error


def _stages(answer: _Answer, snapshots: Sequence[Snapshot]) -> Iterator[Stage]:
    """Yield the source, every pass, and at the end the assembler."""
    states = {s.position: count_ops(s.functions) for s in snapshots}
    names = [SOURCE, *answer.fields["passes"]]
    for position, name in enumerate(names):
        yield Stage(name, position, position in states, states.get(position))
    if answer.cubin:
        yield Stage(ASSEMBLER, len(names), changed=True, ops=None)


def _resources(answer: _Answer, target: CudaTarget) -> GpuResources | None:
    """Return what a program holds; None where the compiler did not come to the assembler's log."""
    usage, metadata = read_usage(str(answer.fields["log"])), answer.fields["metadata"]
    if usage is None:
        return None
    return held_by(usage, int(metadata.get("shared") or 0), int(metadata.get("num_warps") or _warps(answer)), target)


def _warps(answer: _Answer) -> int:
    found = re.search(r'"?ttg\.num-warps"? = (\d+)', answer.texts.get("ttgir", ""))
    return int(found[1]) if found is not None else 4


def held_by(usage: Usage, shared_bytes: int, warps: int, target: CudaTarget) -> GpuResources:
    """Return what a program holds and how many fit a multiprocessor."""
    fits = occupancy(target, warps, usage.registers, shared_bytes)
    return GpuResources(
        usage.registers, usage.stack_bytes, usage.spill_store_bytes, usage.spill_load_bytes, shared_bytes,
        target.shared_bytes_block, warps, fits.programs, fits.limited_by, fits.share(warps, target),
    )  # fmt: skip


def _failure(
    answer: _Answer, launch: Launch, target: CudaTarget, gpu: GpuResources | None, printed_file: str
) -> list[Diagnostic]:
    """Return why the kernel cannot run: the compiler's own words, or that it asks for more than a program may hold."""
    stage, said = str(answer.fields["stage"]), str(answer.fields["said"])
    if answer.fields["failure"] is not None:
        text = said or str(answer.fields["failure"])
        line = next((int(m["line"]) for m in _PLACE.finditer(said) if m["file"] == printed_file), None)
        shown = re.sub(r"^.*?error: ", "", text.strip())[:_SAID_CHARS]
        made_by = ASSEMBLER if stage == "cubin" else None
        return [Diagnostic("error", shown, line, stage or COMPILER, made_by)]
    if gpu is not None and gpu.shared_bytes > gpu.shared_limit_bytes:
        note = message(
            "compile.shared_overflow", kernel=launch.kernel, needed=gpu.shared_bytes, limit=gpu.shared_limit_bytes,
            target=target.name,
        )  # fmt: skip
        return [Diagnostic("error", render(note, "en"), None, "cubin", "allocate-shared-memory-nv", note)]
    return []


def _keep(answer: _Answer, ttir: str, folder: Path, *, dumped: bool) -> dict[str, Path]:
    """Write the IR files to `folder`; a text that this run did not reach goes, lest it be taken for one of it."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"ttir": ttir, **{name: answer.texts.get(name) for name in ("ttgir", "llir", "ptx")}}
    files: dict[str, Path] = {}
    for name, text in texts.items():
        path = folder / f"kernel.{name}"
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text, encoding="utf-8")
            files[name] = path
    if answer.cubin:
        files["cubin"] = folder / "kernel.cubin"
        files["cubin"].write_bytes(answer.cubin)
    if dumped:
        files["dumps"] = folder / "dumps"
        files["dumps"].mkdir(exist_ok=True)
        for old in files["dumps"].glob("*.mlir"):
            old.unlink()
        for dump, position in answer.dumps:
            (files["dumps"] / f"{position:04}_{dump.run.argument}.mlir").write_text(dump.text, encoding="utf-8")
    return files


def disassemble(install: CudaInstall, made: Compilation) -> Compilation:
    """Add the SASS of a compiled kernel, from the disassembler that comes with Triton, if it does."""
    cubin, tool = made.files.get("cubin"), install.tool("nvdisasm")
    if cubin is None or not tool.exists():
        return made
    try:
        done = subprocess.run(
            [tool, "--print-line-info", cubin], capture_output=True, text=True, timeout=_SASS_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError("toolchain.step_failed", command=tool, reason=error) from error
    path = cubin.with_suffix(".sass")
    path.write_text(done.stdout, encoding="utf-8")
    return replace(made, files={**made.files, "sass": path})

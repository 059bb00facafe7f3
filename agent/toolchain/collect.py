"""What the two compilers left -> one `Compilation`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.records import BufferPlan, Compilation, Diagnostic, Launch, Resources, Stage
from agent.toolchain import resources
from agent.toolchain.diagnostics import (
    explain_overflow,
    find_overflow,
    limits_differ,
    parse_diagnostics,
    retried_options,
    switched_off,
)
from agent.toolchain.targets import Target
from agent.toolchain.workspace import move_into, results_folder
from indexer.errors import ToolchainError
from indexer.ir.records import Snapshot
from indexer.ir.snapshots import Dump, PassRun, Step, align, compose, count_ops

_TO_LIBRARY_CALLS = "convert-hivm-to-std"
# What the 950 compiler turns off, one a further attempt, when UB overflows
# (AscendNPU-IR@f9d978b1:bishengir/lib/Tools/bishengir-compile/BiShengIRCompileMain.cpp:352-374).
_A5_FALLBACKS = ("enable-vf-fusion", "vf-reachable-check")
# Result: its file in the work folder.
_FILES = {
    "ttir": "kernel.ttir",
    "linalg": "linalg.mlir",
    "final": "bishengir/module.hivm.opt.mlir",
    "memory_aiv": "bishengir/memory_info_aiv.json",
    "memory_aic": "bishengir/memory_info_aic.json",
}


@dataclass(frozen=True, slots=True)
class Collected:
    """What one compiler's run left: dumps in order, all passes that ran, and why it failed (empty: it did not)."""

    compiler: str
    dumps: Sequence[tuple[PassRun, Path]]
    ran: Sequence[PassRun]
    failure: Sequence[Diagnostic]
    stderr: str = ""
    attempts: int = 1


def conclude(
    parts: Sequence[Collected], launch: Launch, target: Target, printed_file: str, work: Path, out: Path | None
) -> Compilation:
    """Compose snapshots, stages, resources and diagnostics, and move the files to where they stay."""
    steps, dumps = _steps(parts)
    folder = results_folder(out)
    kept = _keep_dumps(steps, dumps, work, folder) if out is not None else dumps
    failure = [d for part in parts for d in part.failure]
    snapshots = _compose(steps, kept, printed_file, failed=bool(failure))
    limits = resources.stated_limits(_attributes(snapshots), target)
    buffers, peaks = _plan(snapshots, failure, limits, work, printed_file)
    off = _switched_off(parts, failure)
    diagnostics = [*_explained(failure, buffers), *limits_differ(limits, target)]
    if not failure:
        diagnostics += switched_off(off)
        diagnostics += [
            d
            for p in parts
            for d in parse_diagnostics(p.stderr, printed_file, p.compiler, None)
            if d.severity != "error"
        ]
    return Compilation(
        launch=launch,
        target=target.name,
        status="rejected" if failure else "ok",
        stages=tuple(_stages(steps, snapshots)),
        snapshots=snapshots,
        resources=peaks,
        diagnostics=tuple(diagnostics),
        files=_keep_files(work, folder, dumped=out is not None),
        hivm=_before(_TO_LIBRARY_CALLS, steps, snapshots),
        retried_without=off,
    )


def _steps(parts: Sequence[Collected]) -> tuple[list[Step], list[Dump]]:
    """Put the passes of all parts into one row; `Step.dump` is an index into the dumps."""
    steps: list[Step] = []
    dumps: list[Dump] = []
    for part in parts:
        mine = align([run for run, _ in part.dumps], part.ran, len(steps))
        steps += [replace(s, dump=None if s.dump is None else s.dump + len(dumps)) for s in mine]
        dumps += [Dump(run, part.compiler, _read(path), str(path)) for run, path in part.dumps]
    return steps, dumps


def _keep_dumps(steps: Sequence[Step], dumps: Sequence[Dump], work: Path, folder: Path) -> list[Dump]:
    """Move the dumps to `folder`/dumps, named by position; return them with their new files."""
    fresh = work / "dumps"
    fresh.mkdir()
    kept = list(dumps)
    for step in steps:
        if step.dump is not None:
            scope = "" if step.run.scope == "module" else f".{step.run.scope}"
            name = f"{step.position:04}_{step.run.argument}{scope}.mlir"
            Path(dumps[step.dump].file).replace(fresh / name)
            kept[step.dump] = replace(dumps[step.dump], file=str(folder / "dumps" / name))
    move_into(fresh, folder / "dumps")
    return kept


def _keep_files(work: Path, folder: Path, *, dumped: bool) -> dict[str, Path]:
    """Move the IR files to `folder`; one that this run did not reach goes, lest it be taken for a result of it."""
    files: dict[str, Path] = {"dumps": folder / "dumps"} if dumped else {}
    for name, file in _FILES.items():
        if (work / file).exists():
            files[name] = move_into(work / file, folder / Path(file).name)
        else:
            (folder / Path(file).name).unlink(missing_ok=True)
    return files


def _read(path: Path) -> str:
    """Read a dump; bytes that are no text stand as replacement characters, and the reader of the IR says where."""
    return path.read_text(encoding="utf-8", errors="replace")


def _compose(steps: Sequence[Step], dumps: Sequence[Dump], printed_file: str, *, failed: bool) -> tuple[Snapshot, ...]:
    """Return the state after each dump; a compiler that `failed` may have died while it wrote the last one."""
    positions = [step.position for step in steps if step.dump is not None]
    snapshots: list[Snapshot] = []
    try:
        snapshots.extend(compose(zip(dumps, positions, strict=True), printed_file))
    except ValueError as error:
        if not (failed and len(snapshots) == len(dumps) - 1):
            raise ToolchainError("compile.bad_dump", error=str(error)) from error
    return tuple(snapshots)


def _stages(steps: Sequence[Step], snapshots: Sequence[Snapshot]) -> Iterator[Stage]:
    for step in steps:
        state = None if step.dump is None or step.dump >= len(snapshots) else snapshots[step.dump]
        ops = None if state is None else count_ops(state.functions)
        yield Stage(step.run.argument, step.position, step.dump is not None, ops)


def _before(argument: str, steps: Sequence[Step], snapshots: Sequence[Snapshot]) -> Snapshot | None:
    """Return the state just before the first run of a pass, None when the pass never ran."""
    stop = next((step.position for step in steps if step.run.argument == argument), None)
    if stop is None:
        return None
    return next((s for s in reversed(snapshots) if s.position < stop), None)


def _attributes(snapshots: Sequence[Snapshot]) -> dict[str, str]:
    return dict(snapshots[-1].module_attributes) if snapshots else {}


def _plan(
    snapshots: tuple[Snapshot, ...], failure: Sequence[Diagnostic], limits: dict[str, int], work: Path, user_file: str
) -> tuple[tuple[BufferPlan, ...], Resources]:
    """Return the buffers and the peaks; for a memory that overflows, the peak is what the kernel would need."""
    overflow = find_overflow(failure)
    if overflow is None:
        planned = resources.planned_buffers(snapshots) if not failure else None
        return planned or (), resources.sum_up(planned, limits)
    recorded = resources.read_memory_record(work / "bishengir", user_file)
    buffers = recorded or (resources.wanted_buffers(snapshots[-1]) if snapshots else ())
    peaks = replace(resources.sum_up(None, limits), buffers=buffers)
    needed = {overflow.space: overflow.needed_bytes}
    return buffers, replace(peaks, ub_bytes=needed.get("ub"), l1_bytes=needed.get("cbuf"), l0c_bytes=needed.get("cc"))


def _explained(failure: Sequence[Diagnostic], buffers: Sequence[BufferPlan]) -> list[Diagnostic]:
    """Put an overflow in our words, with bytes and a line, before what the compiler said."""
    overflow = find_overflow(failure)
    if overflow is None:
        return list(failure)
    blamed = next((d.pass_argument for d in failure if d.pass_argument), resources.PLANNER)
    others = [d for d in failure if find_overflow([d]) is None]
    return [explain_overflow(overflow, resources.largest(buffers, overflow.space), blamed), *others]


def _switched_off(parts: Sequence[Collected], failure: Sequence[Diagnostic]) -> tuple[str, ...]:
    last = parts[-1]
    if last.attempts > 1 and not failure and not retried_options(last.stderr):
        return _A5_FALLBACKS[: last.attempts - 1]
    return retried_options(last.stderr)

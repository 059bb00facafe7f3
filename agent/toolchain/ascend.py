"""TTIR -> Linalg -> HIVM with the real Ascend compilers, every pass kept; no device and no closed back end needed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from agent.records import Compilation, Diagnostic, Launch
from agent.toolchain.backend_stub import write_stub
from agent.toolchain.collect import Collected, conclude
from agent.toolchain.diagnostics import crashed, parse_diagnostics, silent_failure, timed_out
from agent.toolchain.dumps import (
    CHANGED_ONLY,
    NAMES_ONLY,
    TREE_FLAGS,
    count_attempts,
    failing_pass,
    is_source,
    last_attempt,
    parse_pass_ids,
    read_tree,
)
from agent.toolchain.flags import adapter_passes, bishengir_flags, compiler_for
from agent.toolchain.install import AscendInstall
from agent.toolchain.programs import Finished, Outcome, Program, TimedOut
from agent.toolchain.targets import Target
from agent.toolchain.workspace import check_space, work_folder
from indexer.errors import BadInput
from indexer.ir.blame import SOURCE
from indexer.ir.snapshots import PassRun

# The core type, which triton-ascend takes out before bishengir-compile sees the module (compiler.py:299-301).
_MIX_MODE = re.compile(r', mix_mode = "[^"]*"|mix_mode = "[^"]*", ')
# bishengir-compile crashed in 2 of 36 runs with threads, in 0 of 120 without: a second crash is no accident.
_TRIES = 2
# What both compilers may take for one kernel.
COMPILE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class _Job:
    """One compilation under way."""

    install: AscendInstall
    launch: Launch
    target: Target
    printed_file: str
    options: Mapping[str, object]
    flags: tuple[str, ...]
    every_pass: bool
    seconds: float
    work: Path
    env: Mapping[str, str]
    started: float

    def program(self, arguments: Sequence[str | Path], name: str) -> Program:
        """Start a tool in a folder of its own, below the work folder."""
        folder = self.work / name
        folder.mkdir(parents=True, exist_ok=True)
        return Program(arguments, cwd=folder, log=self.work / "log" / name, env=self.env)

    @property
    def left(self) -> float:
        """Return the seconds left of the time limit, which holds for the whole compilation."""
        return self.seconds - (time.monotonic() - self.started)

    def run(self, arguments: Sequence[str | Path], name: str) -> Outcome:
        """Run a tool to its end; one that crashes is run once more."""
        outcome: Outcome = TimedOut(self.seconds)
        for _ in range(_TRIES):
            with self.program(arguments, name) as program:
                outcome = program.finish(self.left)
            if isinstance(outcome, TimedOut) or outcome.returncode >= 0:
                break
        if isinstance(outcome, Finished) and outcome.returncode != 0:
            check_space(self.work, outcome.stderr)
        return outcome


def compile_ttir(  # noqa: PLR0913 - one call takes what a launch, a target and a run need; all but five have defaults
    install: AscendInstall,
    ttir: str,
    launch: Launch,
    target: Target,
    printed_file: str,
    out: Path | None,
    *,
    options: Mapping[str, object] | None = None,
    flags: tuple[str, ...] = (),
    every_pass: bool = True,
    seconds: float = COMPILE_SECONDS,
) -> Compilation:
    """Lower `ttir` for `target` and return its stages, the plan of its memories and what the compilers said.

    Without `every_pass` the stages on A2/A3 are those that changed something: naming the others costs a second run.

    `printed_file` is the user's file as the locations in `ttir` name it. `options` are launch options over those of
    `launch`, `flags` go to bishengir-compile as they are. IR files and dumps stay in `out`; without it only the IR
    files stay, in a folder that goes with this process. A kernel that is rejected, crashes a compiler or takes longer
    than `seconds` gives a rejected `Compilation`.

    Raises `ToolchainError` when a compiler is missing or prints what cannot be read, `StoreError` for a full disk,
    `BadInput` when `out` cannot be written or the options ask for the pure SIMT path.
    """
    started = time.monotonic()
    chosen = {**launch.options, **(options or {})}
    if chosen.get("force_simt_only") or chosen.get("compile_mode") == "simt_only":
        raise BadInput("compile.simt_only", kernel=launch.kernel)
    with work_folder(out) as work:
        env = write_stub(work / "stub")
        job = _Job(install, launch, target, printed_file, chosen, flags, every_pass, seconds, work, env, started)
        (work / "kernel.ttir").write_text(ttir, encoding="utf-8")
        parts = [_adapt(job)]
        if not parts[0].failure:
            parts.append(_lower(job))
        compilation = conclude(parts, launch, target, printed_file, work, out)
    return replace(compilation, seconds=time.monotonic() - started)


def without_mix_mode(module: str) -> str:
    """Take the core type out of the adapter's module, as triton-ascend does."""
    return _MIX_MODE.sub("", module)


def _adapt(job: _Job) -> Collected:
    """Run the adapter twice at once: for the module in its usual form, and for the dumps in generic form."""
    passes = adapter_passes(job.target, job.options)
    linalg, tree = job.work / "linalg.mlir", job.work / "adapter-dumps"
    command: list[str | Path] = [
        job.install.adapter,
        job.work / "kernel.ttir",
        *(p.flag for p in passes),
        "--mlir-print-debuginfo",
    ]
    dumping = [f"--mlir-print-ir-before={passes[0].argument}", *TREE_FLAGS, *CHANGED_ONLY]
    dump = [*command, *dumping, f"--mlir-print-ir-tree-dir={tree}", "-o", "/dev/null"]
    with job.program(dump, "adapter-dumping") as dumper:
        outcome = job.run([*command, "--mlir-disable-threading", "-o", linalg], "adapter")
        dumper.finish(job.left)
    found = read_tree(tree)
    # CSE and canonicalisation inside a pass are dumped before it: they are part of it.
    wanted = {p.argument for p in passes}
    dumps = [(PassRun(SOURCE) if is_source(path) else run, path) for run, path in found if run.argument in wanted]
    ran = [PassRun(SOURCE), *(PassRun(p.argument) for p in passes)]
    failed = failing_pass([path for _, path in found], wanted)
    return Collected("adapter", dumps, ran, _failure(job, outcome, "adapter", job.install.adapter.name, failed))


def _lower(job: _Job) -> Collected:
    """Run bishengir-compile on the adapter's module; on A2/A3 a second run at the same time lists the passes."""
    source = job.work / "kernel.mlir"
    text = (job.work / "linalg.mlir").read_text(encoding="utf-8")
    source.write_text(without_mix_mode(text), encoding="utf-8")
    name = compiler_for(job.target)
    command: list[str | Path] = [
        job.install.bishengir(name),
        source,
        *bishengir_flags(job.target, job.options),
        *job.flags,
        *TREE_FLAGS,
    ]
    tree = job.work / "bishengir-dumps"
    main = [*command, *CHANGED_ONLY, f"--mlir-print-ir-tree-dir={tree}", "-o", "kernel.o"]
    if job.target.arch == "a5":
        # Both are flags of this compiler only.
        outcome = job.run([*main, "--print-pass-id", "--enable-print-memory-allocated-size"], "bishengir")
        ran = parse_pass_ids(outcome.stdout) if isinstance(outcome, Finished) else []
    else:
        names = job.work / "pass-names"
        listing = [*command, *NAMES_ONLY, f"--mlir-print-ir-tree-dir={names}", "-o", "kernel.o"]
        with job.program(listing, "listing") if job.every_pass else nullcontext() as lister:
            outcome = job.run([*main, "--enable-memory-display"], "bishengir")
            listed = lister.finish(job.left) if lister is not None else None
        same = (
            isinstance(listed, Finished) and isinstance(outcome, Finished) and listed.returncode == outcome.returncode
        )
        ran = [run for run, _ in read_tree(names)] if same else []
    dumps = read_tree(tree)
    dumps = dumps[last_attempt([run for run, _ in dumps]) :]
    failed = failing_pass([path for _, path in dumps], None)
    failure = _failure(job, outcome, "bishengir", name, failed)
    stderr = outcome.stderr if isinstance(outcome, Finished) else ""
    return Collected("bishengir", dumps, ran[last_attempt(ran) :], failure, stderr=stderr, attempts=count_attempts(ran))


def _failure(job: _Job, outcome: Outcome, stage: str, program: str, failed: str | None) -> list[Diagnostic]:
    """Return why a run did not succeed, nothing when it did."""
    if isinstance(outcome, TimedOut):
        return [timed_out(stage, program, job.seconds)]
    if outcome.returncode == 0:
        return []
    if outcome.returncode < 0:
        return [crashed(stage, program, outcome.returncode, failed)]
    said = parse_diagnostics(outcome.stderr, job.printed_file, stage, failed)
    if any(d.severity == "error" for d in said):
        return said
    return [silent_failure(stage, program, outcome.returncode, outcome.stderr), *said]

"""The policy of checking: what a candidate must have been through before it counts as right (design, section 9).

The cheat scan first; then the candidate's host runs on the same inputs as the original's, each run in a process of its
own, for every size and several seeds; then on an odd size, on noise where outputs go, on NaN and on infinity; a second
time in one process; on inputs with gaps and on one tensor given twice, where the original takes them; and with every
configuration of an autotuner. What is right is the file's own reference in float64, else what the original computes.
"""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

from agent.records import Cost, KernelSource
from agent.toolchain.client import Worker
from agent.toolchain.install import AscendInstall
from agent.toolchain.targets import Target
from agent.toolchain.warm import lend_worker
from agent.verify.builds import Builder
from agent.verify.cheats import find_cheats
from agent.verify.exam import CannotBuild, Case, Exam
from agent.verify.floor import below_floor
from agent.verify.judge import Finding, Right, judge, same_bits
from agent.verify.kept import Kept
from agent.verify.linalg import NotBuilt
from agent.verify.running import Broke, InterpreterRunner, Level, LinalgRunner, Ran, Runner
from agent.workbench import Workbench
from indexer.home import data_home
from indexer.messages import Message, message

# Each configuration costs a build and two runs; autotuners of real kernels have a dozen or two.
CONFIGS_MOST = 24

Verdict = Literal["right", "wrong", "cheating", "unchecked"]


@dataclass(frozen=True, slots=True)
class Checks:
    """How a candidate was checked and what came of it.

    `cases` counts the runs compared. `max_error` is the largest relative error of a finite element, None where nothing
    was compared; `tolerance` the allowed one by element type, as text. `not_covered` says what the level, the file's
    form or the limits left open.
    """

    level: Level
    verdict: Verdict
    reasons: tuple[Message, ...] = ()
    cases: int = 0
    seeds: tuple[int, ...] = ()
    shapes: tuple[str, ...] = ()
    max_error: float | None = None
    tolerance: str = ""
    not_covered: tuple[Message, ...] = ()
    sandbox: tuple[str, ...] = ()


def verify(bench: Workbench, original: KernelSource, candidate: KernelSource) -> Checks:
    """Check one candidate against `original`; several candidates of one original are cheaper by one `Verifier`.

    Raises `SandboxError` when there is no sandbox, `ToolchainError` when the worker dies.
    """
    with Verifier(bench) as verifier:
        return verifier.check(original, candidate)


class Verifier:
    """Checks candidates at a workbench; keeps what the originals made of the cases, built kernels, the interpreter."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self._linalg = _linalg_runner(bench)
        self._interpreter: Worker | None = None
        self._lent = ExitStack()
        self._exams: list[Exam] = []

    def __enter__(self) -> Verifier:  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the interpreter's worker back, if it was needed."""
        self._interpreter = None
        self._lent.close()

    def check(self, original: KernelSource, candidate: KernelSource, cost: Cost | None = None) -> Checks:
        """Check `candidate`: by compiled Linalg IR, or by the interpreter where that cannot be built.

        `cost`, where it is known, must not be below what the work takes at least.
        """
        cheats = find_cheats(original.text, candidate.text)
        if cheats:
            return Checks("none", "cheating", tuple(cheat.note for cheat in cheats))
        if self._linalg is None:
            checks: Checks | NotBuilt = NotBuilt(message("verify.no_linalg", target=self.bench.target.name))
        else:
            checks = self.check_by(self._linalg, original, candidate, cost)
        if isinstance(checks, Checks):
            return checks
        reason = message("verify.not_linalg", reason=checks.reason)
        checks = self.check_by(self._interpreting(), original, candidate, cost)
        if isinstance(checks, NotBuilt):
            return Checks("none", "unchecked", (checks.reason,), not_covered=(reason,))
        return dataclasses.replace(checks, not_covered=(reason, *checks.not_covered))

    def check_by(
        self, runner: Runner, original: KernelSource, candidate: KernelSource, cost: Cost | None = None
    ) -> Checks | NotBuilt:
        """Run all cases by one runner, without the cheat scan; `NotBuilt` when it cannot run a kernel of either."""
        exam = self._exam(runner, original)
        tally = _Tally()
        try:
            verdict, reasons = _conclude(exam, candidate, tally)
            if verdict == "right" and cost is not None and (low := self._below_floor(exam, cost)):
                verdict, reasons = "cheating", (low,)
        except CannotBuild as stop:
            return stop.outcome
        return tally.checks(runner.level, verdict, reasons, exam.notes, self.bench.worker.layers)

    def _below_floor(self, exam: Exam, cost: Cost) -> Message | None:
        needed = exam.needed_as_captured()
        return None if needed is None else below_floor(self.bench.target.name, cost, needed)

    def _exam(self, runner: Runner, original: KernelSource) -> Exam:
        for exam in self._exams:
            if exam.runner.level == runner.level and exam.original == original:
                return exam
        self._exams.append(Exam(self.bench.worker, self.bench.target, runner, original))
        return self._exams[-1]

    def _interpreting(self) -> InterpreterRunner:
        if self._interpreter is None:
            lent = lend_worker(self.bench.install, self.bench.worker.policy, interpreter=True)
            self._interpreter = self._lent.enter_context(lent)
        return InterpreterRunner(self._interpreter, self.bench.target)


def _linalg_runner(bench: Workbench) -> LinalgRunner | None:
    """Return who runs kernels compiled for the CPU: None for CUDA, whose IR has no such way."""
    if not isinstance(bench.install, AscendInstall) or not isinstance(bench.target, Target):
        return None
    kept = Kept(data_home() / "cache" / "libraries")
    return LinalgRunner(bench.worker, Builder(bench.install, bench.target, bench.scratch / "libraries", kept))


@dataclass(slots=True)
class _Tally:
    """What the cases so far add up to."""

    cases: int = 0
    seeds: dict[int, None] = field(default_factory=dict)
    shapes: dict[str, None] = field(default_factory=dict)
    max_error: float | None = None
    tolerances: dict[str, float] = field(default_factory=dict)
    spread: int = 0

    def add(self, case: Case, finding: Finding) -> None:
        """Take one case in."""
        self.cases += 1
        self.seeds[case.recipe.seed] = None
        self.shapes[case.shape] = None
        self.max_error = max(finding.max_error, self.max_error or 0.0)
        for dtype, limit in finding.tolerances.items():
            self.tolerances[dtype] = max(limit, self.tolerances.get(dtype, 0.0))
        self.spread += finding.spread

    def checks(
        self,
        level: Level,
        verdict: Verdict,
        reasons: tuple[Message, ...],
        notes: dict[str, Message],
        layers: tuple[str, ...],
    ) -> Checks:
        """Write it down."""
        spread = (message("verify.nan_spread", count=self.spread),) if self.spread else ()
        return Checks(
            level,
            verdict,
            reasons,
            self.cases,
            tuple(self.seeds),
            tuple(self.shapes),
            self.max_error,
            ", ".join(f"{dtype} {limit:.2g}" for dtype, limit in self.tolerances.items()),
            (*notes.values(), *spread, message(f"verify.level_{level}")),
            layers,
        )


def _conclude(exam: Exam, candidate: KernelSource, tally: _Tally) -> tuple[Verdict, tuple[Message, ...]]:
    """Run case after case; the first fault ends it."""
    trial = _Trial(exam, candidate, tally)
    for recipe in exam.recipes(candidate):
        case = exam.case(recipe)
        if isinstance(case, Message):
            return "unchecked", (case,)
        if case is not None:
            verdict, reasons = trial.judge(case)
            if verdict != "right":
                return verdict, reasons
    return trial.judge_configurations()


@dataclass(slots=True)
class _Trial:
    """One candidate on its way through the cases: what it left of the `first`, how many `configs` its tuner has."""

    exam: Exam
    candidate: KernelSource
    tally: _Tally
    first: Ran | None = None
    configs: int = 0

    def judge(self, case: Case, config: int = 0) -> tuple[Verdict, tuple[Message, ...]]:
        """Run the candidate on one case and compare."""
        source = dataclasses.replace(self.candidate, text=self.candidate.text + case.addition)
        how = dataclasses.replace(case.how, config=config)
        got = self.exam.runner.run(source, case.inputs, case.recipe.seed, how)
        if isinstance(got, NotBuilt):
            raise CannotBuild(got)
        if isinstance(got, Broke):
            kind, verdict = ("candidate_limit", "unchecked") if got.limit else ("candidate_broke", "wrong")
            return _ended(verdict, _place(case, config, kind, reason=got.note))
        self.configs = max(self.configs, got.configs)
        self.first = self.first or got
        right = Right(case.baseline, case.reference, case.plain)
        finding = judge(got, right, case.inputs, injected=case.recipe.kind in {"nan", "inf"})
        self.tally.add(case, finding)
        if finding.cheats:
            return "cheating", tuple(finding.cheats)
        faults = finding.faults or self._unlike_the_first(case, got)
        return ("wrong" if faults else "right"), tuple(_place(case, config, "in_case", fault=f) for f in faults)

    def _unlike_the_first(self, case: Case, got: Ran) -> list[Message]:
        """Say so when the second call gives other bits than the first, where the original's does not."""
        if case.recipe.kind != "again" or self.first is None or not self.exam.is_repeatable():
            return []
        return [] if same_bits(self.first, got) else [message("verify.not_repeatable")]

    def judge_configurations(self) -> tuple[Verdict, tuple[Message, ...]]:
        """Run every other configuration that the candidate's autotuner may choose, on the first and the odd size."""
        if self.configs > CONFIGS_MOST:
            self.exam.note("configs_left", checked=CONFIGS_MOST, count=self.configs)
        for config in range(1, min(self.configs, CONFIGS_MOST)):
            for case in self.exam.telling_cases():
                verdict, reasons = self.judge(case, config)
                if verdict != "right":
                    return verdict, reasons
        return "right", ()


def _ended(verdict: str, reason: Message) -> tuple[Verdict, tuple[Message, ...]]:
    return ("unchecked" if verdict == "unchecked" else "wrong"), (reason,)


def _place(case: Case, config: int, key: str, **values: object) -> Message:
    """Say in which case something was seen: `in_case`, or `in_config` for another configuration than the first."""
    kind = case.recipe.kind
    special = "" if kind == "plain" else message(f"verify.case_{kind}")
    place = {"seed": case.recipe.seed, "shape": case.shape, "case": special}
    told = message(f"verify.{key}", **place, **values)
    return told if config == 0 else message("verify.in_config", number=config, fault=told)

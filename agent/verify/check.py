"""The policy of checking: what a candidate must have been through before it counts as right (design, section 9).

The cheat scan first; then the candidate's host runs on the same inputs as the original's, each run in a process of its
own, for every size and several seeds; then on an odd size, on noise where outputs go, on NaN and on infinity. What is
right is the file's own reference in float64, else what the original computes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

from agent.records import KernelSource
from agent.toolchain.client import Worker
from agent.verify.builds import Builder
from agent.verify.cheats import find_cheats
from agent.verify.exam import CannotBuild, Case, Exam
from agent.verify.judge import Finding, Right, judge
from agent.verify.kept import Kept
from agent.verify.linalg import NotBuilt
from agent.verify.running import Broke, InterpreterRunner, Level, LinalgRunner, Runner
from agent.workbench import Workbench
from indexer.home import data_home
from indexer.messages import Message, message

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
        kept = Kept(data_home() / "cache" / "libraries")
        builder = Builder(bench.install, bench.target, bench.scratch / "libraries", kept)
        self._linalg = LinalgRunner(bench.worker, builder)
        self._interpreter: Worker | None = None
        self._exams: list[Exam] = []

    def __enter__(self) -> Verifier:  # noqa: PYI034 - typing.Self came with Python 3.11
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop the interpreter's worker, if it was needed."""
        if self._interpreter is not None:
            self._interpreter.close()
            self._interpreter = None

    def check(self, original: KernelSource, candidate: KernelSource) -> Checks:
        """Check `candidate`: by compiled Linalg IR, or by the interpreter where that cannot be built."""
        cheats = find_cheats(original.text, candidate.text)
        if cheats:
            return Checks("none", "cheating", tuple(cheat.note for cheat in cheats))
        checks = self.check_by(self._linalg, original, candidate)
        if isinstance(checks, Checks):
            return checks
        reason = message("verify.not_linalg", reason=checks.reason)
        checks = self.check_by(self._interpreting(), original, candidate)
        if isinstance(checks, NotBuilt):
            return Checks("none", "unchecked", (checks.reason,), not_covered=(reason,))
        return dataclasses.replace(checks, not_covered=(reason, *checks.not_covered))

    def check_by(self, runner: Runner, original: KernelSource, candidate: KernelSource) -> Checks | NotBuilt:
        """Run all cases by one runner, without the cheat scan; `NotBuilt` when it cannot run a kernel of either."""
        exam = self._exam(runner, original)
        tally = _Tally()
        try:
            verdict, reasons = _conclude(exam, candidate, tally)
        except CannotBuild as stop:
            return stop.outcome
        return tally.checks(runner.level, verdict, reasons, exam.notes, self.bench.worker.layers)

    def _exam(self, runner: Runner, original: KernelSource) -> Exam:
        for exam in self._exams:
            if exam.runner.level == runner.level and exam.original == original:
                return exam
        self._exams.append(Exam(self.bench.worker, self.bench.target, runner, original))
        return self._exams[-1]

    def _interpreting(self) -> InterpreterRunner:
        if self._interpreter is None:
            self._interpreter = Worker(self.bench.install, self.bench.worker.policy, interpreter=True)
        return InterpreterRunner(self._interpreter, self.bench.target)


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
    for recipe in exam.recipes():
        case = exam.case(recipe)
        if isinstance(case, Message):
            return "unchecked", (case,)
        if case is not None:
            verdict, reasons = _judge(exam.runner, candidate, case, tally)
            if verdict != "right":
                return verdict, reasons
    return "right", ()


def _judge(runner: Runner, candidate: KernelSource, case: Case, tally: _Tally) -> tuple[Verdict, tuple[Message, ...]]:
    """Run the candidate on one case and compare."""
    source = dataclasses.replace(candidate, text=candidate.text + case.addition)
    got = runner.run(source, case.inputs, case.recipe.seed)
    if isinstance(got, NotBuilt):
        raise CannotBuild(got)
    place = {"seed": case.recipe.seed, "shape": case.shape}
    if isinstance(got, Broke):
        if got.limit:
            return "unchecked", (message("verify.candidate_limit", reason=got.note, **place),)
        return "wrong", (message("verify.candidate_broke", reason=got.note, **place),)
    injected = case.recipe.kind in {"nan", "inf"}
    right = Right(case.baseline, case.reference, case.plain)
    finding = judge(got, right, case.inputs, injected=injected)
    tally.add(case, finding)
    reasons = tuple(message("verify.in_case", fault=fault, **place) for fault in finding.faults)
    return ("wrong" if reasons else "right"), reasons

"""The policy of checking: what a candidate must have been through before it counts as right (design, section 9).

The cheat scan first; then the candidate's host and the original's run on the same inputs, each in a process of its
own, for every size and several seeds; then on inputs that hold noise where outputs go, NaN, infinity, and an odd size.
What is right is the file's own reference in float64, else what the original computes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from agent.records import KernelSource
from agent.toolchain.client import Worker
from agent.verify.cheats import find_cheats
from agent.verify.judge import Finding, floats_unchanged, judge
from agent.verify.linalg import NotBuilt
from agent.verify.running import (
    Broke,
    Inputs,
    InterpreterRunner,
    Level,
    LinalgRunner,
    Ran,
    Runner,
    make_inputs,
    run_reference,
)
from agent.verify.shapes import with_injected, with_noise, with_odd_shape
from agent.verify.values import Values
from agent.workbench import Workbench
from indexer.messages import Message, message

Verdict = Literal["right", "wrong", "cheating", "unchecked"]
SEEDS = (0, 1, 2)
# More sizes than this are sampled: the first, the last, and some between.
SHAPES_MOST = 6


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
    """Check `candidate` against `original`: by compiled Linalg IR, or by the interpreter where that cannot be built.

    Raises `SandboxError` when there is no sandbox, `ToolchainError` when the worker dies.
    """
    cheats = find_cheats(original.text, candidate.text)
    if cheats:
        return Checks("none", "cheating", tuple(cheat.note for cheat in cheats))
    linalg = LinalgRunner(bench.worker, bench.install, bench.target, bench.scratch / "libraries")
    checks = check_by(linalg, bench, original, candidate)
    if isinstance(checks, Checks):
        return checks
    reason = checks.reason
    with Worker(bench.install, bench.worker.policy, interpreter=True) as worker:
        checks = check_by(InterpreterRunner(worker, bench.target), bench, original, candidate)
    if isinstance(checks, NotBuilt):
        return Checks("none", "unchecked", (checks.reason,))
    return dataclasses.replace(checks, not_covered=(message("verify.not_linalg", reason=reason), *checks.not_covered))


def check_by(runner: Runner, bench: Workbench, original: KernelSource, candidate: KernelSource) -> Checks | NotBuilt:
    """Run all cases by one runner, without the cheat scan; `NotBuilt` when it cannot run a kernel of either."""
    try:
        return _Check(bench, runner, original, candidate).conclude()
    except _CannotBuild as stop:
        return stop.outcome


class _CannotBuild(Exception):
    """A kernel has no library: the whole check has to go another way."""

    def __init__(self, outcome: NotBuilt) -> None:
        self.outcome = outcome
        super().__init__(outcome.reason.key)


@dataclass(frozen=True, slots=True)
class _Case:
    """One set of inputs: both sources (an odd size adds a line to each), the seed, and the reference's answer."""

    original: KernelSource
    candidate: KernelSource
    inputs: Inputs
    seed: int
    reference: Values | None
    injected: bool = False
    extra: bool = False


@dataclass(slots=True)
class _Tally:
    """What the cases so far add up to."""

    cases: int = 0
    seeds: dict[int, None] = field(default_factory=dict)
    shapes: dict[str, None] = field(default_factory=dict)
    max_error: float | None = None
    tolerances: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Message] = field(default_factory=dict)
    spread: int = 0

    def add(self, case: _Case, finding: Finding) -> None:
        self.cases += 1
        self.seeds[case.seed] = None
        self.shapes[_describe(case.inputs)] = None
        self.max_error = max(finding.max_error, self.max_error or 0.0)
        self.tolerances |= finding.tolerances
        self.spread += finding.spread

    def note(self, key: str, **values: object) -> None:
        """Keep one remark a key: the first says enough."""
        self.notes.setdefault(key, message(f"verify.{key}", **values))


class _Check:
    """One check of one candidate by one runner."""

    def __init__(self, bench: Workbench, runner: Runner, original: KernelSource, candidate: KernelSource) -> None:
        self.bench, self.runner = bench, runner
        self.original, self.candidate = original, candidate
        self.tally = _Tally()

    def conclude(self) -> Checks:
        """Run case after case; the first fault ends it."""
        for case in self._cases():
            if isinstance(case, Message):
                return self._checks("unchecked", (case,))
            verdict, reasons = self._judge(case)
            if verdict != "right":
                return self._checks(verdict, reasons)
        return self._checks("right", ())

    def _checks(self, verdict: Verdict, reasons: tuple[Message, ...]) -> Checks:
        tally = self.tally
        if tally.spread:
            tally.note("nan_spread", count=tally.spread)
        tally.note(f"level_{self.runner.level}")
        return Checks(
            self.runner.level,
            verdict,
            reasons,
            tally.cases,
            tuple(tally.seeds),
            tuple(tally.shapes),
            tally.max_error,
            ", ".join(f"{dtype} {limit:.2g}" for dtype, limit in tally.tolerances.items()),
            tuple(tally.notes.values()),
            self.bench.worker.layers,
        )

    def _cases(self) -> Iterator[_Case | Message]:
        """Yield the cases, plain ones first; a message instead when the file makes no inputs."""
        first = self._made(self.original, self.candidate, SEEDS[0], 0)
        if isinstance(first, Broke):
            yield message("verify.no_inputs", reason=first.note)
            return
        if first.reference is None:
            self.tally.note("no_reference")
        if first.inputs.shapes == 1:
            self.tally.note("one_shape")
        yield first
        for shape in _sample(first.inputs.shapes):
            for seed in SEEDS:
                if (shape, seed) != (0, SEEDS[0]):
                    case = self._made(self.original, self.candidate, seed, shape)
                    yield case if isinstance(case, _Case) else message("verify.no_inputs", reason=case.note)
        yield from self._odd_cases(first.inputs.shapes)
        yield from self._altered_cases(first)

    def _made(self, original: KernelSource, candidate: KernelSource, seed: int, shape: int) -> _Case | Broke:
        worker, target = self.bench.worker, self.bench.target
        inputs = make_inputs(worker, original, target, seed, shape)
        if isinstance(inputs, Broke):
            return inputs
        reference = run_reference(worker, original, target, inputs, seed) if inputs.has_reference else None
        if isinstance(reference, Broke):
            self.tally.note("reference_broke", reason=reference.note)
            reference = None
        return _Case(original, candidate, inputs, seed, reference)

    def _odd_cases(self, shapes: int) -> Iterator[_Case]:
        """Yield a case of an odd size where the file says its sizes and takes this one."""
        texts = [with_odd_shape(source.text) for source in (self.original, self.candidate)]
        if texts[0] is None or texts[1] is None:
            return
        original = dataclasses.replace(self.original, text=texts[0])
        candidate = dataclasses.replace(self.candidate, text=texts[1])
        case = self._made(original, candidate, SEEDS[0], shapes)
        if isinstance(case, _Case):
            yield dataclasses.replace(case, extra=True)
        else:
            self.tally.note("odd_refused", reason=case.note)

    def _altered_cases(self, first: _Case) -> Iterator[_Case]:
        """Yield the first case with noise in what is overwritten, then with NaN and infinity in what is read."""
        plain = dataclasses.replace(first, reference=None, extra=True)
        baseline = self._run(first.original, first)
        if not isinstance(baseline, Ran):
            return
        given = first.inputs.given
        views = given.tensors()
        noisy = given
        for number in baseline.changed:
            noisy = with_noise(noisy, views[number], SEEDS[0])
        if noisy is not given:
            yield dataclasses.replace(plain, inputs=first.inputs.replaced(noisy))
        for kind in ("nan", "inf"):
            spoilt = given
            for number, view in enumerate(floats_unchanged(first.inputs, baseline)):
                # Each tensor at places of its own: NaN that meets NaN shows nothing.
                spoilt = with_injected(spoilt, view, kind, seed=number)
            if spoilt is not given:
                yield dataclasses.replace(plain, inputs=first.inputs.replaced(spoilt), injected=True)

    def _run(self, source: KernelSource, case: _Case) -> Ran | Broke:
        ran = self.runner.run(source, case.inputs, case.seed)
        if isinstance(ran, NotBuilt):
            raise _CannotBuild(ran)
        return ran

    def _judge(self, case: _Case) -> tuple[Verdict, tuple[Message, ...]]:
        """Run one case both ways and compare."""
        baseline = self._run(case.original, case)
        if isinstance(baseline, Broke):
            if case.extra:
                self.tally.note("extra_refused", reason=baseline.note)
                return "right", ()
            return "unchecked", (message("verify.original_broke", reason=baseline.note),)
        reference = self._trusted(case, baseline)
        got = self._run(case.candidate, case)
        if isinstance(got, Broke):
            where = partial(message, seed=case.seed, shape=_describe(case.inputs), reason=got.note)
            if got.limit:
                return "unchecked", (where("verify.candidate_limit"),)
            return "wrong", (where("verify.candidate_broke"),)
        finding = judge(got, baseline, reference, case.inputs, injected=case.injected)
        self.tally.add(case, finding)
        place = {"seed": case.seed, "shape": _describe(case.inputs)}
        reasons = tuple(message("verify.in_case", fault=fault, **place) for fault in finding.faults)
        return ("wrong" if reasons else "right"), reasons

    def _trusted(self, case: _Case, baseline: Ran) -> Values | None:
        """Return the reference's answer, unless the original itself does not agree with it."""
        if case.reference is None:
            return None
        if len(case.reference.tensors()) != len(baseline.outputs.tensors()):
            self.tally.note("other_reference")
            return None
        own = judge(baseline, baseline, case.reference, case.inputs)
        if own.faults:
            self.tally.note("original_off", fault=own.faults[0])
            return None
        return case.reference


def _sample(count: int) -> list[int]:
    """Return the numbers of the shapes to run: all, or some with the first and the last among them."""
    if count <= SHAPES_MOST:
        return list(range(count))
    return sorted({round(i * (count - 1) / (SHAPES_MOST - 1)) for i in range(SHAPES_MOST)})


def _describe(inputs: Inputs) -> str:
    """Name a size by the tensors' shapes: `64x256, 256x64`."""
    return ", ".join("x".join(map(str, view.shape)) or "scalar" for view in inputs.given.tensors()) or "-"

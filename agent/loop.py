"""The optimisation loop: diagnose the best kernel, try one rewrite, check it, cost it, keep the best, again."""

from __future__ import annotations

import dataclasses
import difflib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from agent.contract import (
    BaselineDoc,
    BestDoc,
    ChecksDoc,
    EscalationDoc,
    FindingDoc,
    OptimizeDoc,
    RewriteDoc,
    RoundDoc,
    Verdict,
)
from agent.diagnose import Diagnosis, diagnose, line_text, subjects_of
from agent.documents import cost_doc, diagnostic_docs, finding_doc
from agent.jobs import in_threads
from agent.journal import Journal, digest
from agent.knowledge import Library
from agent.ladder import escalations
from agent.records import Finding, KernelSource, Lowering
from agent.request import Goal
from agent.rewrite.table import Rule, rules_for
from agent.sandbox import is_limit
from agent.symptoms.base import Rewrite
from agent.symptoms.table import SYMPTOMS
from agent.verify.check import Checks, Verifier
from agent.workbench import Workbench
from indexer.errors import BadInput, SandboxError
from indexer.messages import Lang, render
from retriever.search import Index

# Three comparable rounds within 2 % are a plateau (design, section 8).
PLATEAU_ROUNDS = 3
PLATEAU_SHARE = 0.02
# A predicted gain below this is no gain: the model's rank inside a family is not good to better than this share (its
# published misses on sweeps are between configurations 2 to 3 % apart).
LEAST_GAIN = 0.02


# A candidate that nothing could check is not kept: it is rejected, with the checks' reasons.
_VERDICTS: dict[str, Verdict] = {"right": "kept", "wrong": "wrong", "cheating": "cheating", "unchecked": "rejected"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rewrite offered for a finding."""

    finding: Finding
    rewrite: Rewrite


@dataclass(slots=True)
class _State:
    """Where the run stands; a refuted direction is named by what stays the same when lines move."""

    source: KernelSource
    lowering: Lowering
    best_round: int
    rounds: list[RoundDoc] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    refuted: set[tuple[str, str, str]] = field(default_factory=set)

    def is_new(self, offer: Rewrite, symptom: str, text: str) -> bool:
        """Return whether an offer for a line of `text` was neither tried nor refuted in kind."""
        return digest(offer.source) not in self.tried and (offer.name, symptom, text) not in self.refuted


class Optimizer:
    """One run over one file; `on_round` is told of each finished round, `rules` gives a symptom's rewrites."""

    def __init__(  # noqa: PLR0913, PLR0917 - a run needs its bench, its judge, its books, its listener and its rules
        self,
        bench: Workbench,
        verifier: Verifier,
        library: Library | None,
        journal: Journal,
        lang: Lang,
        on_round: Callable[[RoundDoc], None],
        rules: Callable[[str], tuple[Rule, ...]] = rules_for,
    ) -> None:
        self.bench = bench
        self.verifier = verifier
        self.library = library
        self.journal = journal
        self.lang: Lang = lang
        self.on_round = on_round
        self.rules = rules
        self._diagnoses: dict[str, Diagnosis] = {}

    def run(self, source: KernelSource, goal: Goal, *, resume: bool = False) -> OptimizeDoc:
        """Optimise `source`; a resumed run goes on after its last whole round."""
        started = time.monotonic()
        state = self._resumed(source) if resume else self._begun(source, goal)
        first = self._diagnose(source)
        stopped = self._rounds(state, source, first.lowering, goal)
        result = self._result(state, first, stopped, time.monotonic() - started)
        self.journal.finish(result)
        return result

    def _diagnose(self, source: KernelSource) -> Diagnosis:
        """Diagnose once what stays the best for several rounds."""
        known = self._diagnoses.get(source.text)
        if known is None:
            known = self._diagnoses[source.text] = diagnose(self.bench, source, self._index, self.lang)
        return known

    @property
    def _index(self) -> Index | None:
        return self.library.index if self.library is not None else None

    def _begun(self, source: KernelSource, goal: Goal) -> _State:
        lowering = self.bench.lower(source)
        self.journal.begin(source, self.bench.target.name, goal.rounds)
        return _State(source, lowering, 0, tried={digest(source.text)})

    def _resumed(self, source: KernelSource) -> _State:
        past = self.journal.resume(source, self.bench.target.name)
        best = dataclasses.replace(source, text=past.best_text)
        texts = [self.journal.candidate(r.n).read_text(encoding="utf-8") for r in past.rounds]
        tried = {digest(source.text), *map(digest, texts)}
        failed = [r.rewrite for r in past.rounds if r.rewrite is not None and r.claim_verdict == "refuted"]
        refuted = {(w.name, w.symptom, w.line_text) for w in failed}
        return _State(best, self.bench.lower(best), past.best_round, list(past.rounds), tried, refuted)

    def _rounds(self, state: _State, original: KernelSource, initial: Lowering, goal: Goal) -> str:
        """Go round until a stop rule holds; return its name."""
        while len(state.rounds) < goal.rounds:
            if _reached(initial, state.lowering, goal.target_speedup):
                return "target"
            if _is_plateau(state.rounds):
                return "plateau"
            if not self._round(state, original):
                return "no rewrite left"
        return "rounds"

    def _round(self, state: _State, original: KernelSource) -> bool:
        """Run one round; return False when no rewrite is left to try."""
        started = time.monotonic()
        if not self._has_offers(state):
            return False
        diagnosis = self._diagnose(state.source)
        proposal = next(self._proposals(state, diagnosis), None)
        if proposal is None:
            return False
        trial = self._try(state, original, proposal)
        entry = self._entry(state, diagnosis, proposal, trial, time.monotonic() - started)
        self.journal.record(entry, proposal.rewrite.source)
        state.rounds.append(entry)
        state.tried.add(digest(proposal.rewrite.source))
        if trial.claim == "refuted":
            state.refuted.add((proposal.rewrite.name, proposal.finding.symptom, proposal.finding.text))
        if trial.verdict == "kept" and trial.lowering is not None:
            state.source = dataclasses.replace(state.source, text=proposal.rewrite.source)
            state.lowering = trial.lowering
            state.best_round = entry.n
        self.on_round(entry)
        return True

    def _has_offers(self, state: _State) -> bool:
        """Return whether any rule has something new to offer; without, a diagnosis would lead nowhere."""
        arch = self.bench.target.arch
        source = state.source.text
        for subject in subjects_of(state.lowering):
            for symptom in SYMPTOMS:
                rules = self.rules(symptom.id) if arch in symptom.archs else ()
                for structure in symptom.detect(subject) if rules else ():
                    offers = filter(None, (make(subject, structure) for make in rules))
                    text = line_text(source, structure.line)
                    if any(state.is_new(offer, symptom.id, text) for offer in offers):
                        return True
        return False

    def _proposals(self, state: _State, diagnosis: Diagnosis) -> Iterator[Proposal]:
        """Offer rewrites for the findings, most severe first; none that was tried or refuted."""
        subjects = tuple(subjects_of(diagnosis.lowering))
        for finding in diagnosis.findings:
            for make in self.rules(finding.symptom):
                offer = make(subjects[finding.launch_index], finding.structure)
                if offer is not None and state.is_new(offer, finding.symptom, finding.text):
                    yield Proposal(finding, offer)

    def _try(self, state: _State, original: KernelSource, proposal: Proposal) -> _Trial:
        """Lower the candidate, then cost it, and check it only if it promises something."""
        candidate = dataclasses.replace(state.source, text=proposal.rewrite.source)
        try:
            lowering = self.bench.lower(candidate)
        except (BadInput, SandboxError) as error:
            if isinstance(error, SandboxError) and not is_limit(error):
                raise
            return _Trial("rejected", "refuted", render(error.note, self.lang), None, None)
        claim = _claim(state.lowering, lowering, proposal.finding)
        if lowering.cost is None:
            told = [
                d.message
                for item in lowering.launches
                for d in diagnostic_docs(item.compilation.diagnostics[:1], self.lang)
            ]
            return _Trial("rejected", "refuted", "; ".join(told[:1]), lowering, None)
        if not _is_cheaper(lowering, state.lowering):
            return _Trial("slower", claim, "", lowering, None)
        checks = self.verifier.check(original, candidate)
        return _Trial(_VERDICTS[checks.verdict], claim, "", lowering, checks)

    def _entry(
        self, state: _State, diagnosis: Diagnosis, proposal: Proposal, trial: _Trial, seconds: float
    ) -> RoundDoc:
        entered = [step.rung for step in diagnosis.ladder if step.entered]
        return RoundDoc(
            n=len(state.rounds) + 1,
            entry_rung=entered[0],
            deepest_rung=entered[-1],
            escalations=[
                EscalationDoc(from_=e.origin, to=e.to, reason=render(e.reason, self.lang))
                for e in escalations(diagnosis.ladder)
            ],
            findings=[self._finding_doc(f) for f in diagnosis.findings],
            rewrite=self._rewrite_doc(state, proposal),
            verdict=trial.verdict,
            checks=_checks_doc(trial.checks, self.lang),
            cost=cost_doc(trial.lowering.cost if trial.lowering is not None else None, self.lang),
            claim_verdict=trial.claim,
            reason=trial.reason,
            seconds=seconds,
        )

    def _rewrite_doc(self, state: _State, proposal: Proposal) -> RewriteDoc:
        name = state.source.path.name
        before, after = state.source.text.splitlines(), proposal.rewrite.source.splitlines()
        return RewriteDoc(
            name=proposal.rewrite.name,
            author="rule",
            symptom=proposal.finding.symptom,
            line_text=proposal.finding.text,
            claim=render(proposal.rewrite.claim, self.lang),
            precondition=render(proposal.rewrite.precondition, self.lang),
            citations=[e.passage for e in proposal.finding.evidence],
            diff="\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")),
        )

    def _finding_doc(self, finding: Finding) -> FindingDoc:
        titles = {} if self.library is None else self.library.titles(e.passage for e in finding.evidence)
        return finding_doc(finding, self.lang, titles)

    def _result(self, state: _State, diagnosis: Diagnosis, stopped: str, seconds: float) -> OptimizeDoc:
        """Cost the baseline and the best kernel once more from fresh compiles, and state the outcome."""
        source = diagnosis.lowering.source
        ends = [source, state.source] if state.best_round else [source]
        baseline, *others = in_threads(lambda end: self.bench.lower(end, fresh=True), ends)
        best = others[0] if others else baseline
        first, last = baseline.cost, best.cost
        main = baseline.launches[baseline.costliest]
        return OptimizeDoc(
            kernel=main.launch.kernel,
            target=self.bench.target.name,
            file=str(source.path),
            out=str(self.journal.folder),
            baseline=BaselineDoc(
                cost=cost_doc(first, self.lang),
                status="ok" if first is not None else "rejected",
                diagnostics=diagnostic_docs(main.compilation.diagnostics, self.lang),
            ),
            findings=[self._finding_doc(f) for f in diagnosis.findings],
            best=BestDoc(
                round=state.best_round,
                cost=cost_doc(last, self.lang),
                speedup=first.value / last.value if first is not None and last is not None else None,
                file=str(self.journal.best),
                repaired=first is None and last is not None,
            ),
            rounds=state.rounds,
            stopped=stopped,
            tokens={"prompt": 0, "completion": 0},
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class _Trial:
    """What became of a proposal."""

    verdict: Verdict
    claim: Literal["realised", "refuted", "open"]
    reason: str
    lowering: Lowering | None
    checks: Checks | None


def _is_cheaper(new: Lowering, old: Lowering) -> bool:
    if new.cost is None:
        return False
    return old.cost is None or new.cost.value < old.cost.value * (1 - LEAST_GAIN)


def _claim(before: Lowering, after: Lowering, finding: Finding) -> Literal["realised", "refuted", "open"]:
    """Compare the claim, that the structure goes, with what the new lowering shows."""
    symptom = next((s for s in SYMPTOMS if s.id == finding.symptom), None)
    if symptom is None:  # the compiler refused the kernel
        return "refuted" if after.cost is None else "realised"
    left = sum(len(symptom.detect(s)) for s in subjects_of(after))
    had = sum(len(symptom.detect(s)) for s in subjects_of(before))
    if left >= had:
        return "refuted"
    return "realised" if _is_cheaper(after, before) else "open"


def _reached(initial: Lowering, best: Lowering, speedup: float | None) -> bool:
    if speedup is None or initial.cost is None or best.cost is None:
        return False
    return initial.cost.value / best.cost.value >= speedup


def _is_plateau(rounds: list[RoundDoc]) -> bool:
    """Return whether the last rounds were comparable, moved nothing, and the deepest rung was tried."""
    last = rounds[-PLATEAU_ROUNDS:]
    costs = [r.cost.value for r in last if r.cost is not None]
    if len(costs) < PLATEAU_ROUNDS or any(r.verdict == "kept" for r in last):
        return False
    return max(costs) / min(costs) - 1 <= PLATEAU_SHARE and any(r.deepest_rung == "source" for r in last)


def _checks_doc(checks: Checks | None, lang: Lang) -> ChecksDoc:
    if checks is None:
        return ChecksDoc(
            level="none", verdict="unchecked", cases=0, seeds=[], shapes=[], max_error=None, tolerance="", reasons=[],
            not_covered=[], sandbox=[],
        )  # fmt: skip
    return ChecksDoc(
        level=checks.level,
        verdict=checks.verdict,
        cases=checks.cases,
        seeds=list(checks.seeds),
        shapes=list(checks.shapes),
        max_error=checks.max_error,
        tolerance=checks.tolerance,
        reasons=[render(note, lang) for note in checks.reasons],
        not_covered=[render(note, lang) for note in checks.not_covered],
        sandbox=list(checks.sandbox),
    )

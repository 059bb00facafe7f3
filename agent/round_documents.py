"""A round -> its document: the climb, the candidates, what was claimed and what happened, and what was cited."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.contract import (
    CandidateDoc,
    ChecksDoc,
    CostDoc,
    EscalationDoc,
    FindingDoc,
    RewriteDoc,
    RoundDoc,
    RungDoc,
)
from agent.contract_run import ExpectedDoc, ModelTurnDoc, PassageTextDoc, TokensDoc
from agent.counterfactual import line_excerpt
from agent.diagnose import Diagnosis, subjects_of
from agent.documents import cost_doc, finding_doc
from agent.journal import digest
from agent.knowledge import Library, title_of
from agent.ladder import EntryRule, escalations
from agent.propose.records import Proposal
from agent.records import Finding, Lowering
from agent.trials import Trial
from agent.verify.check import Checks
from indexer.messages import Lang, Message, message, render

# Of a passage's text in a run's documents; the index has the rest.
MAX_PASSAGE = 4_000


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """What a round consists of, before it is written down; the first trial is the one that it is about."""

    number: int
    entered: EntryRule
    diagnosis: Diagnosis
    trials: Sequence[Trial]
    model: ModelTurnDoc | None
    lessons: Sequence[str]
    seconds: float


class RoundWriter:
    """Writes the rounds of one run in one language."""

    def __init__(self, library: Library | None, lang: Lang) -> None:
        self.library = library
        self.lang: Lang = lang

    def write(self, facts: RoundFacts, known: Iterable[str]) -> RoundDoc:
        """Describe a round; `known` are the passages whose text earlier rounds have."""
        main = facts.trials[0] if facts.trials else None
        climb = facts.diagnosis.ladder
        entered = [step.rung for step in climb if step.entered] or ["pattern"]
        before = facts.diagnosis.lowering
        findings = [self.finding(f) for f in facts.diagnosis.findings]
        cited = [e.passage for f in facts.diagnosis.findings for e in f.evidence]
        cited += [e.passage for t in facts.trials for e in t.proposal.claim.citations]
        return RoundDoc(
            n=facts.number,
            entry_rung=entered[0],
            deepest_rung=entered[-1],
            escalations=[
                EscalationDoc(from_=e.origin, to=e.to, reason=render(e.reason, self.lang)) for e in escalations(climb)
            ],
            findings=findings,
            rewrite=self._rewrite(before, main) if main is not None else None,
            verdict="rejected" if main is None or main.verdict == "untried" else main.verdict,
            checks=checks_doc(main.checks if main is not None else None, self.lang),
            cost=self._cost(main),
            claim_verdict=main.claim if main is not None else "open",
            reason=self._reason(main, facts.model),
            seconds=facts.seconds,
            entry_reason=render(message(facts.entered.reason), self.lang),
            ladder=[
                RungDoc(rung=s.rung, entered=s.entered, reason=render(s.reason, self.lang), localized=s.localized)
                for s in climb
            ],
            candidates=[self._candidate(before, trial) for trial in facts.trials[1:]],
            model=facts.model,
            ir_before=_excerpt_before(main),
            ir_after=_excerpt_after(before, main),
            passages=self.passages(cited, known),
            lessons=list(facts.lessons),
            tokens=facts.model.tokens if facts.model is not None else TokensDoc(),
        )

    def finding(self, finding: Finding) -> FindingDoc:
        """Describe a finding with the titles of its passages."""
        titles = {} if self.library is None else self.library.titles(e.passage for e in finding.evidence)
        return finding_doc(finding, self.lang, titles)

    def passages(self, ids: Iterable[str], known: Iterable[str] = ()) -> list[PassageTextDoc]:
        """Give the text of cited passages that are not known yet."""
        if self.library is None:
            return []
        have = set(known)
        opened = [(id_, self.library.index.passage(id_)) for id_ in dict.fromkeys(ids) if id_ not in have]
        return [
            PassageTextDoc(id=id_, title=title_of(p), kind=p.kind, text=p.text[:MAX_PASSAGE])
            for id_, p in opened
            if p is not None
        ]

    def _candidate(self, before: Lowering, trial: Trial) -> CandidateDoc:
        return CandidateDoc(
            rewrite=self._rewrite(before, trial), verdict=trial.verdict, claim_verdict=trial.claim,
            cost=self._cost(trial), reason=self._reason(trial, None), sha256=digest(trial.proposal.source),
        )  # fmt: skip

    def _rewrite(self, before: Lowering, trial: Trial) -> RewriteDoc:
        proposal: Proposal = trial.proposal
        claim = proposal.claim
        return RewriteDoc(
            name=proposal.name,
            author=proposal.author,
            symptom=proposal.symptom,
            line_text=proposal.line_text,
            claim=self._text(claim.text),
            precondition=self._text(claim.ground),
            citations=[e.passage for e in claim.citations],
            diff=diff_of(before, proposal.source),
            quote=claim.quote,
            supported=bool(claim.citations),
            expected=[ExpectedDoc(text=render(o.text, self.lang), verdict=o.verdict) for o in trial.outcomes],
        )

    def _cost(self, trial: Trial | None) -> CostDoc | None:
        return cost_doc(trial.lowering.cost if trial is not None and trial.lowering is not None else None, self.lang)

    def _reason(self, trial: Trial | None, model: ModelTurnDoc | None) -> str:
        if trial is None:
            return model.reason if model is not None else ""
        if trial.checks is not None and trial.verdict != "kept" and not trial.reason:
            return "; ".join(render(note, self.lang) for note in trial.checks.reasons[:1])
        return trial.reason

    def _text(self, said: str | Message) -> str:
        return render(said, self.lang) if isinstance(said, Message) else said


def diff_of(before: Lowering, new: str) -> str:
    """Return a unified diff from the best kernel so far."""
    name = before.source.path.name
    old = before.source.text.splitlines()
    return "\n".join(difflib.unified_diff(old, new.splitlines(), f"a/{name}", f"b/{name}", lineterm=""))


def checks_doc(checks: Checks | None, lang: Lang) -> ChecksDoc:
    """Describe how a candidate was checked, or that it was not."""
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


def _excerpt_before(trial: Trial | None) -> str:
    finding = trial.proposal.finding if trial is not None else None
    return finding.structure.excerpt if finding is not None else ""


def _excerpt_after(before: Lowering, trial: Trial | None) -> str:
    """Return the IR of what stands in the new source where the finding's line stood."""
    finding = trial.proposal.finding if trial is not None else None
    if trial is None or trial.lowering is None or finding is None or finding.line is None:
        return ""
    lines = _lines_after(before.source.text, trial.proposal.source, finding.line)
    subjects = [s for s in subjects_of(trial.lowering) if s.compilation.hivm is not None]
    same = [s for s in subjects if s.launch.kernel == before.launches[finding.launch_index].launch.kernel]
    return line_excerpt((same or subjects)[0], lines) if subjects else ""


def _lines_after(old: str, new: str, line: int) -> frozenset[int | None]:
    """Return the lines of the new text that a line of the old one became."""
    found: set[int | None] = set()
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if i1 < line <= i2:
            found |= {line - i1 + j1} if tag == "equal" else set(range(j1 + 1, j2 + 1))
    return frozenset(found)

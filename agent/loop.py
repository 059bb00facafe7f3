"""The optimisation loop: diagnose the best kernel, let rules and model propose, try all, keep the best, again."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass

from agent.contract import BaselineDoc, BestDoc, OptimizeDoc, RoundDoc
from agent.contract_run import ModelDoc, ModelTurnDoc, PassageTextDoc, TokensDoc
from agent.diagnose import Diagnosis, diagnose, line_text, subjects_of
from agent.documents import cost_doc, diagnostic_docs, launch_doc
from agent.evidence import offer_rungs, restrict
from agent.jobs import in_threads
from agent.journal import Journal, Terms, digest
from agent.knowledge import Library
from agent.ladder import LADDERS, EntryRule, Past, Standing, enter_at, entry, stops
from agent.llm.records import Request
from agent.memory import LessonDoc, Memory, conditions_of, lessons_of, remember
from agent.propose.model import ModelProposer
from agent.propose.prompting import MOST_FINDINGS, Situation, say_lessons
from agent.propose.records import Proposal
from agent.propose.rules import MOST_OFFERS, Rules, rule_proposals
from agent.propose.tokens import sum_tokens, tokens_doc
from agent.ratios import speedup_of
from agent.records import KernelSource, Lowering, Rung
from agent.request import Goal
from agent.rewrite.table import rules_for
from agent.round_documents import RoundFacts, RoundWriter
from agent.run_state import RunState
from agent.symptoms.registry import symptoms_of
from agent.trials import try_all
from agent.verify.check import Verifier
from agent.workbench import Workbench
from indexer.errors import ModelError
from indexer.messages import Lang, message, render

# Failures of an endpoint that may be over by the next round; after so many rounds in a row they count as lasting.
PASSING = frozenset({"llm.busy", "llm.unreachable", "llm.out_of_time"})
MOST_FAILURES = 2


@dataclass(frozen=True, slots=True)
class Help:
    """What a run works with: the index, the model, what earlier runs taught; each may be missing."""

    library: Library | None = None
    model: ModelProposer | None = None
    memory: Memory | None = None
    rules: Rules = rules_for


class Optimizer:
    """One run over one file; `on_round` is told of each finished round."""

    def __init__(
        self,
        bench: Workbench,
        verifier: Verifier,
        help_: Help,
        journal: Journal,
        lang: Lang,
        on_round: Callable[[RoundDoc], None],
    ) -> None:
        self.bench = bench
        self.verifier = verifier
        self.help = help_
        self.model = help_.model
        self.journal = journal
        self.lang: Lang = lang
        self.on_round = on_round
        self.writer = RoundWriter(help_.library, lang)
        self._diagnoses: dict[str, Diagnosis] = {}
        self._index = help_.library.index if help_.library is not None else None

    def run(self, source: KernelSource, goal: Goal, *, resume: bool = False) -> OptimizeDoc:
        """Optimise `source`; a resumed run goes on after its last whole round. Raises `ModelError`."""
        started = time.monotonic()
        terms = self._terms(goal)
        state = self._resumed(source, terms) if resume else self._begun(source, terms)
        first = self._diagnose(source, goal)
        stopped = self._rounds(state, source, first.lowering, goal)
        result = self._result(state, first, stopped, goal, time.monotonic() - started)
        self.journal.finish(result)
        if self.help.memory is not None and self._index is not None:
            remember(self.help.memory.path, lessons_of(result, self.bench.target.arch, self._index))
        return result

    def first_request(self, source: KernelSource, goal: Goal) -> Request:
        """Return what the model would be sent first, and send nothing."""
        assert self.model is not None  # noqa: S101 - only a run with a model has one
        state = RunState(source, self.bench.lower(source), tried={digest(source.text)})
        return self.model.first_request(self._situation(state, goal)[1])

    def _situation(self, state: RunState, goal: Goal) -> tuple[EntryRule, Situation]:
        """Climb from where the policy says, and gather what a round begins with."""
        diagnosis = self._diagnose(state.source, goal)
        offers = self._offers(state, diagnosis)
        rule = entry(Standing(not state.rounds, state.climbed != state.source.text, offer_rungs(offers)))
        diagnosis = dataclasses.replace(diagnosis, ladder=enter_at(diagnosis.ladder, rule))
        return rule, Situation(diagnosis, offers, state.rounds, self._lessons(diagnosis), goal.ladder)

    def _terms(self, goal: Goal) -> Terms:
        lessons = self.help.memory.count if self.help.memory is not None else 0
        model = self.model.chat.model if self.model is not None else ""
        return Terms(self.bench.target.name, goal.rounds, model, goal.ladder, lessons)

    def _diagnose(self, source: KernelSource, goal: Goal) -> Diagnosis:
        """Diagnose once what stays the best for several rounds."""
        known = self._diagnoses.get(source.text)
        if known is None:
            deepest: Rung = "source" if "source" in LADDERS[goal.ladder] else "ir"
            found = diagnose(self.bench, source, self._index, self.lang, deepest)
            known = self._diagnoses[source.text] = restrict(found, goal.ladder)
        return known

    def _begun(self, source: KernelSource, terms: Terms) -> RunState:
        lowering = self.bench.lower(source)
        self.journal.begin(source, terms)
        return RunState(source, lowering, tried={digest(source.text)})

    def _resumed(self, source: KernelSource, terms: Terms) -> RunState:
        past = self.journal.resume(source, terms)
        best = dataclasses.replace(source, text=past.best_text)
        state = RunState(best, self.bench.lower(best))
        state.recall(past, source)
        if self.model is not None:
            self.model.chat.budget.prompt = sum(r.tokens.prompt for r in past.rounds)
            self.model.chat.budget.completion = sum(r.tokens.completion for r in past.rounds)
        return state

    def _rounds(self, state: RunState, original: KernelSource, initial: Lowering, goal: Goal) -> str:
        """Go round until a stop rule holds; return its name."""
        while len(state.rounds) < goal.rounds:
            if _reached(initial, state.lowering, goal.target_speedup):
                return "target"
            stopped = stops([self._past(entry_) for entry_ in state.rounds])
            if stopped is not None:
                return stopped
            if not self._round(state, original, goal):
                return "no rewrite left"
        return "rounds"

    def _past(self, entry_: RoundDoc) -> Past:
        """Return what the stop rules look at; without an index the IR is the deepest rung to be had."""
        cost = entry_.cost.value if entry_.cost is not None else None
        deepest = "source" if self._index is not None else "ir"
        at = [rung.rung for rung in entry_.ladder if rung.entered]
        ended = entry_.model.ended if entry_.model is not None else ""
        # A model that failed may propose something when the run goes on.
        empty = entry_.rewrite is None and ended != "failed"
        given_up = empty and ended == "gave_up"
        deep = not at or deepest in at or at[-1] == "source"
        return Past(cost, entry_.verdict == "kept", deep, empty, given_up)

    def _round(self, state: RunState, original: KernelSource, goal: Goal) -> bool:
        """Run one round; return False when there is nothing left to try."""
        started = time.monotonic()
        if self.model is None and not self._has_offers(state, goal):
            return False
        rule, now = self._situation(state, goal)
        proposed, turn = self._asked(state, now)
        proposals = [*now.offers, *proposed]
        if not proposals and turn is None:
            return False
        trials = try_all(self.bench, self.verifier, original, state.lowering, proposals, self.lang)
        facts = RoundFacts(
            len(state.rounds) + 1, rule, now.diagnosis, trials, turn, list(say_lessons(now.lessons)),
            time.monotonic() - started,
        )  # fmt: skip
        self._keep(state, facts)
        return True

    def _keep(self, state: RunState, facts: RoundFacts) -> None:
        """Write a round down, and take over what it found."""
        entry_ = self.writer.write(facts, state.cited)
        main = facts.trials[0] if facts.trials else None
        self.journal.record(entry_, main.proposal.source if main is not None else None)
        state.learn(list(facts.trials), entry_)
        self.on_round(entry_)

    def _has_offers(self, state: RunState, goal: Goal) -> bool:
        """Return whether any rule has something new to offer; without, a diagnosis would lead nowhere."""
        known = symptoms_of(self.bench.target.arch)
        symptoms = [s for s in known if s.rung in LADDERS[goal.ladder] and self.help.rules(s.id)]
        return any(
            offer is not None
            and state.is_new(offer.source, (offer.name, symptom.id, line_text(subject.source, at.line)))
            for subject in subjects_of(state.lowering)
            for symptom in symptoms
            for at in symptom.detect(subject)
            for offer in (make(subject, at) for make in self.help.rules(symptom.id))
        )

    def _offers(self, state: RunState, diagnosis: Diagnosis) -> list[Proposal]:
        """Return the rules' first new proposals; no two of one text, whichever findings they answer."""
        subjects = tuple(subjects_of(diagnosis.lowering))
        found: dict[str, Proposal] = {}
        for proposal in rule_proposals(diagnosis.findings, subjects, self.help.rules):
            if state.is_new(proposal.source, proposal.direction):
                found.setdefault(proposal.source, proposal)
            if len(found) == MOST_OFFERS:
                break
        return list(found.values())

    def _lessons(self, diagnosis: Diagnosis) -> list[LessonDoc]:
        """Return what earlier runs taught about the findings."""
        memory, index = self.help.memory, self._index
        if memory is None or index is None:
            return []
        launches = diagnosis.lowering.launches
        found: dict[str, LessonDoc] = {}
        for finding in diagnosis.findings[:MOST_FINDINGS]:
            signature = launches[finding.launch_index].launch.signature
            conditions = conditions_of(self.writer.finding(finding), signature)
            found |= {each.model_dump_json(): each for each in memory.like(finding.symptom, conditions, index)}
        return list(found.values())

    def _asked(self, state: RunState, now: Situation) -> tuple[list[Proposal], ModelTurnDoc | None]:
        """Let the model propose. If it fails before it ever answered the run ends; later the rules go on alone."""
        if self.model is None:
            return [], None
        budget = self.model.chat.budget
        before = (budget.prompt, budget.completion, budget.requests)
        offered = {proposal.source for proposal in now.offers}
        try:
            turn = self.model.propose(now, lambda p: p.source not in offered and state.is_new(p.source, p.direction))
        except ModelError as error:
            if not budget.spent:
                raise
            spent = (budget.prompt - before[0], budget.completion - before[1], budget.requests - before[2])
            return [], self._failed(state, error, tokens_doc(*spent, self.model.price))
        state.failures = 0
        return [turn.proposal] if turn.proposal is not None else [], turn.doc

    def _failed(self, state: RunState, error: ModelError, tokens: TokensDoc) -> ModelTurnDoc:
        """Tell a round in which the model failed; one that may be back is asked in the next round again."""
        state.failures += 1
        reason = render(error.note, self.lang)
        if error.note.key not in PASSING or state.failures == MOST_FAILURES:
            self.model, state.left = None, reason
            reason = render(message("propose.model_failed", reason=error.note), self.lang)
        return ModelTurnDoc(ended="failed", reason=reason, thought="", actions=[], tokens=tokens)

    def _result(self, state: RunState, diagnosis: Diagnosis, stopped: str, goal: Goal, seconds: float) -> OptimizeDoc:
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
            findings=[self.writer.finding(f) for f in diagnosis.findings],
            best=BestDoc(
                round=state.best_round,
                cost=cost_doc(last, self.lang),
                speedup=speedup_of(first, last),
                file=str(self.journal.best),
                repaired=first is None and last is not None,
            ),
            rounds=state.rounds,
            stopped=stopped,
            tokens=sum_tokens(entry_.tokens for entry_ in state.rounds),
            seconds=seconds,
            launch=launch_doc(main.launch),
            ladder=goal.ladder,
            model=self._model_doc(state),
            passages=self._passages(state, diagnosis),
        )

    def _model_doc(self, state: RunState) -> ModelDoc | None:
        asked = self.help.model
        if asked is None:
            return None
        return ModelDoc(
            name=asked.chat.model, endpoint=asked.endpoint, left=state.left, exchanges=str(self.journal.exchanges)
        )

    def _passages(self, state: RunState, diagnosis: Diagnosis) -> list[PassageTextDoc]:
        """Return the texts of all that the run cites."""
        had = [passage for entry_ in state.rounds for passage in entry_.passages]
        cited = [e.passage for f in diagnosis.findings for e in f.evidence]
        return [*had, *self.writer.passages(cited, state.cited)]


def _reached(initial: Lowering, best: Lowering, wanted: float | None) -> bool:
    reached = speedup_of(initial.cost, best.cost)
    return wanted is not None and reached is not None and reached >= wanted

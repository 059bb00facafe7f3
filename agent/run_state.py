"""Where a run stands: the best kernel, its rounds, what was tried; the same after a crash as before it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from agent.contract import RoundDoc
from agent.journal import Past, digest
from agent.propose.records import Direction
from agent.records import KernelSource, Lowering
from agent.trials import Trial


@dataclass(slots=True)
class RunState:
    """The best kernel so far and how it was found.

    `tried` are digests of candidates, `refuted` directions; `climbed` is the text that the last round looked at,
    `failures` counts rounds in a row in which the model failed, `left` says why it takes no further part.
    """

    source: KernelSource
    lowering: Lowering
    best_round: int = 0
    rounds: list[RoundDoc] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    refuted: set[Direction] = field(default_factory=set)
    climbed: str = ""
    failures: int = 0
    left: str = ""

    @property
    def cited(self) -> set[str]:
        """Return the passages whose text the rounds have."""
        return {passage.id for entry in self.rounds for passage in entry.passages}

    def is_new(self, source: str, direction: Direction) -> bool:
        """Return whether a text was not tried, nor its direction refuted."""
        return digest(source) not in self.tried and direction not in self.refuted

    def recall(self, past: Past, original: KernelSource) -> None:
        """Take over what the journal tells of the rounds so far."""
        self.rounds, self.best_round = list(past.rounds), past.best_round
        self.tried = {digest(original.text), *map(digest, past.candidates)}
        for entry in past.rounds:
            self.tried |= {c.sha256 for c in entry.candidates if c.verdict != "untried"}
            told = [(c.rewrite, c.verdict, c.claim_verdict) for c in entry.candidates]
            if entry.rewrite is not None:
                told.append((entry.rewrite, entry.verdict, entry.claim_verdict))
            self.refuted |= {(w.name, w.symptom, w.line_text) for w, v, c in told if _is_refuted(v, c)}
        if past.rounds and past.rounds[-1].verdict != "kept":
            self.climbed = self.source.text

    def learn(self, trials: list[Trial], entry: RoundDoc) -> None:
        """Take over what a round found."""
        self.rounds.append(entry)
        self.climbed = self.source.text
        for trial in trials:
            if trial.verdict != "untried":
                self.tried.add(digest(trial.proposal.source))
            if _is_refuted(trial.verdict, trial.claim):
                self.refuted.add(trial.proposal.direction)
        main = trials[0] if trials else None
        if main is not None and main.verdict == "kept" and main.lowering is not None:
            self.source = dataclasses.replace(self.source, text=main.proposal.source)
            self.lowering, self.best_round = main.lowering, entry.n


def _is_refuted(verdict: str, claim: str) -> bool:
    """Tell whether a direction need not be tried again: what was claimed did not happen, or results change."""
    return claim == "refuted" or verdict in {"wrong", "cheating"}

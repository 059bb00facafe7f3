"""What the page shows of a run, put together from its folder; the templates only lay it out."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from agent.contract import Basis, CandidateDoc, CostDoc, FindingDoc, OptimizeDoc, RoundDoc, TokensDoc
from agent.report.html.excerpts import Excerpt, beside, diff_excerpt, difference, excerpt
from agent.report.html.overview import speedup_of
from agent.report.html.plot import Entry, Plot, Standing, plot_costs
from agent.report.html.reading import SeenRun
from agent.report.terminal import LEAST_BY_HAND

# Two drawings of one plot: a phone is narrower than the text of a wide one allows.
_WIDE, _NARROW = (760, 300), (330, 260)


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding, its structure in the IR, and the same place after the counterfactual."""

    doc: FindingDoc
    before: Excerpt
    after: Excerpt


@dataclass(frozen=True, slots=True)
class CandidateView:
    """Another candidate of a round, and its change."""

    doc: CandidateDoc
    diff: Excerpt


@dataclass(frozen=True, slots=True)
class RoundView:
    """A round: the finding that its rewrite is about, what else was found, and the cost against the best so far.

    `before` and `after` are the IR of the finding's line, `others_tried` the candidates that the round is not about.
    `ratio` is that of the best cost before it and its own, None where one is missing or they have not one basis.
    """

    doc: RoundDoc
    addressed: FindingView | None
    others: tuple[FindingDoc, ...]
    before: Excerpt
    after: Excerpt
    diff: Excerpt
    others_tried: tuple[CandidateView, ...]
    ratio: float | None

    @property
    def standing(self) -> Standing:
        """Return what became of the round."""
        return standing_of(self.doc)


@dataclass(frozen=True, slots=True)
class PassageView:
    """A cited passage: its number on the page, why it was chosen, and its text where the run kept it."""

    number: int
    id: str
    title: str
    why: tuple[str, ...]
    text: Excerpt


@dataclass(frozen=True, slots=True)
class RunView:
    """One run on the page; `anchor` starts the ids of its parts."""

    seen: SeenRun
    anchor: str
    kernel: str
    rounds: tuple[RoundView, ...]
    findings: tuple[FindingView, ...]
    left: tuple[FindingDoc, ...]
    wide: tuple[Plot, ...]
    narrow: tuple[Plot, ...]
    change: Excerpt
    best: Excerpt
    passages: dict[str, PassageView] = field(default_factory=dict)

    @property
    def result(self) -> OptimizeDoc | None:
        """Return the result, None while the run is unfinished."""
        return self.seen.result

    @property
    def before(self) -> CostDoc | None:
        """Return the baseline's cost, None where it is not known or there is none."""
        return self.seen.result.baseline.cost if self.seen.result is not None else None

    @property
    def after(self) -> CostDoc | None:
        """Return the best cost: re-costed at the end, or of an unfinished run that of its last kept round."""
        if self.seen.result is not None:
            return self.seen.result.best.cost
        return next((r.doc.cost for r in reversed(self.rounds) if r.doc.verdict == "kept"), None)

    @property
    def best_round(self) -> int:
        """Return the round of the best kernel; 0 is the initial one."""
        return max((r.doc.n for r in self.rounds if r.doc.verdict == "kept"), default=0)

    @property
    def speedup(self) -> float | None:
        """Return the speedup; None where one end has no cost, or their bases differ."""
        return speedup_of(self.seen.result) if self.seen.result is not None else None

    @property
    def mixes_bases(self) -> bool:
        """Return whether both ends have a cost, of two bases: then no ratio may be stated."""
        return self.before is not None and self.after is not None and self.before.basis != self.after.basis

    @property
    def way_on(self) -> str:
        """Return the command that goes on with an unfinished run."""
        seen = self.seen
        words = ["tritonkb", "optimize", seen.file, "--target", seen.target]
        words += ["--model", seen.model] if seen.model else []
        words += ["--ladder", seen.ladder] if seen.ladder != "full" else []
        return shlex.join([*words, "--resume", str(seen.folder)])

    @property
    def standing(self) -> Literal["unfinished", "repaired", "rejected", "nothing", "better"]:
        """Return what came of the run in a word."""
        if self.seen.result is None:
            return "unfinished"
        if self.seen.result.best.repaired:
            return "repaired"
        if self.after is None:
            return "rejected"
        return "better" if self.best_round else "nothing"

    @property
    def bases(self) -> tuple[Basis, ...]:
        """Return the bases of all costs of the run."""
        costs = [self.before, *(r.doc.cost for r in self.rounds)]
        return tuple(dict.fromkeys(cost.basis for cost in costs if cost is not None))

    @property
    def tally(self) -> dict[Standing, int]:
        """Return how many rounds came to what."""
        return dict(Counter(r.standing for r in self.rounds))

    @property
    def tokens(self) -> TokensDoc:
        """Return what models took; of an unfinished run, the sum of its rounds so far."""
        if self.seen.result is not None:
            return self.seen.result.tokens
        taken = [r.doc.tokens for r in self.rounds]
        costs = [t.cost for t in taken if t.cost is not None]
        return TokensDoc(
            prompt=sum(t.prompt for t in taken),
            completion=sum(t.completion for t in taken),
            requests=sum(t.requests for t in taken),
            cost=sum(costs) if costs else None,
            currency=next((t.currency for t in taken if t.currency), ""),
        )

    @property
    def levels(self) -> tuple[str, ...]:
        """Return how the kept rewrites were checked."""
        return tuple(dict.fromkeys(r.doc.checks.level for r in self.rounds if r.doc.verdict == "kept"))

    @property
    def gaps(self) -> tuple[str, ...]:
        """Return what those checks do not cover."""
        return tuple(
            dict.fromkeys(gap for r in self.rounds if r.doc.verdict == "kept" for gap in r.doc.checks.not_covered)
        )

    @property
    def isolation(self) -> tuple[str, ...]:
        """Return the layers of the sandbox in force."""
        return tuple(dict.fromkeys(layer for r in self.rounds for layer in r.doc.checks.sandbox))

    def cited(self, ids: Iterable[str]) -> tuple[PassageView, ...]:
        """Return the passages of these ids."""
        return tuple(self.passages[id_] for id_ in dict.fromkeys(ids) if id_ in self.passages)


def view_run(seen: SeenRun, number: int) -> RunView:
    """Put together what the page shows of a run, the `number`-th on it."""
    result = seen.result
    first = result.findings if result is not None else seen.rounds[0].findings if seen.rounds else []
    done = {r.rewrite.symptom for r in seen.rounds if r.rewrite is not None and r.verdict == "kept"}
    initial, best = seen.initial_text or "", seen.best_text or ""
    entries = _entries(seen)
    return RunView(
        seen=seen,
        anchor=f"run-{number}",
        kernel=result.kernel if result is not None else PurePath(seen.file).stem,
        rounds=_view_rounds(seen),
        findings=tuple(view_finding(doc) for doc in first),
        left=tuple(f for f in first if f.symptom not in done and f.severity >= LEAST_BY_HAND),
        wide=plot_costs(entries, *_WIDE),
        narrow=plot_costs(entries, *_NARROW),
        change=difference(initial, best),
        best=excerpt(best),
        passages=_passages(seen, first),
    )


def view_finding(doc: FindingDoc) -> FindingView:
    """Cut the IR of a finding to what a page holds."""
    return FindingView(doc, *beside(doc.counterfactual.before or doc.ir.excerpt, doc.counterfactual.after))


def standing_of(doc: RoundDoc) -> Standing:
    """Return what became of a round: its verdict, or that it had nothing to judge."""
    return doc.verdict if doc.rewrite is not None else "empty"


def _entries(seen: SeenRun) -> list[Entry]:
    rounds = [Entry(r.n, r.cost, standing_of(r)) for r in seen.rounds]
    if seen.result is None:
        return rounds
    return [Entry(0, seen.result.baseline.cost, "baseline"), *rounds]


def _view_rounds(seen: SeenRun) -> tuple[RoundView, ...]:
    best = seen.result.baseline.cost if seen.result is not None else None
    views: list[RoundView] = []
    for doc in seen.rounds:
        views.append(_view_round(doc, best))
        if doc.verdict == "kept":
            best = doc.cost
    return tuple(views)


def _view_round(doc: RoundDoc, best: CostDoc | None) -> RoundView:
    rewrite = doc.rewrite
    about = [f for f in doc.findings if rewrite is not None and f.symptom == rewrite.symptom]
    exact = [f for f in about if rewrite is not None and f.source.text == rewrite.line_text]
    addressed = next(iter([*exact, *about]), None)
    return RoundView(
        doc,
        None if addressed is None else view_finding(addressed),
        tuple(f for f in doc.findings if f is not addressed),
        *beside(doc.ir_before, doc.ir_after),
        diff_excerpt(rewrite.diff if rewrite is not None else ""),
        tuple(CandidateView(c, diff_excerpt(c.rewrite.diff)) for c in doc.candidates),
        _ratio(best, doc.cost),
    )


def _ratio(before: CostDoc | None, after: CostDoc | None) -> float | None:
    if before is None or after is None or before.basis != after.basis or after.value <= 0:
        return None
    return before.value / after.value


def _passages(seen: SeenRun, findings: Sequence[FindingDoc]) -> dict[str, PassageView]:
    """Number the cited passages in the order in which the page comes to them."""
    every = [*(f for r in seen.rounds for f in r.findings), *findings]
    evidence = {e.passage: e for f in reversed(every) for e in reversed(f.evidence)}
    kept = {p.id: p for r in seen.rounds for p in r.passages}
    kept |= {p.id: p for p in (seen.result.passages if seen.result is not None else ())}
    views: dict[str, PassageView] = {}
    for number, id_ in enumerate(dict.fromkeys(_citations(seen.rounds, every)), 1):
        cited, text = evidence.get(id_), kept.get(id_)
        title = text.title if text is not None else cited.title if cited is not None else ""
        why = tuple(cited.why) if cited is not None else ()
        views[id_] = PassageView(number, id_, title, why, excerpt(text.text if text is not None else ""))
    return views


def _citations(rounds: Iterable[RoundDoc], findings: Iterable[FindingDoc]) -> Iterator[str]:
    for entry in rounds:
        rewrites = [entry.rewrite] if entry.rewrite is not None else []
        for rewrite in [*rewrites, *(c.rewrite for c in entry.candidates)]:
            yield from rewrite.citations
    yield from (e.passage for f in findings for e in f.evidence)

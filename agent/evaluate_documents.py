"""The JSON form of an evaluation (design, section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from agent.contract import Doc, IntervalDoc
from agent.evaluate import Case, Score
from indexer.messages import Lang, render
from retriever import measures
from retriever.evaluate import Evaluation, Outcome
from retriever.measures import Difference, Scores


class FoundDoc(Doc):
    """A finding, as far as the scoring looks at it."""

    symptom: str
    line: int | None
    pass_argument: str | None
    severity: float
    counterfactual: str


class CaseDoc(Doc):
    """One pair."""

    name: str
    symptom: str
    target: str
    symptom_found: bool
    line_right: bool | None
    pass_right: bool
    evidence_found: bool | None
    false_alarm: bool
    findings: list[FoundDoc]
    error: str | None


class AttributionDoc(Doc):
    """`tritonkb eval attribution`."""

    n: int
    symptom_accuracy: float | None
    line_accuracy: float | None
    pass_accuracy: float | None
    evidence_recall: float | None
    evidence_note: str | None
    false_alarms: int
    cases: list[CaseDoc]


def attribution_doc(score: Score, lang: Lang) -> AttributionDoc:
    """Give a score its JSON form."""
    note = score.evidence_note
    return AttributionDoc(
        n=len(score.cases),
        symptom_accuracy=score.symptom_accuracy,
        line_accuracy=score.line_accuracy,
        pass_accuracy=score.pass_accuracy,
        evidence_recall=score.evidence_recall,
        evidence_note=render(note, lang) if note is not None else None,
        false_alarms=score.false_alarms,
        cases=[_case_doc(case, lang) for case in score.cases],
    )


def _case_doc(case: Case, lang: Lang) -> CaseDoc:
    return CaseDoc(
        name=case.truth.name,
        symptom=case.truth.symptom,
        target=case.truth.target,
        symptom_found=case.symptom,
        line_right=case.line,
        pass_right=case.pass_,
        evidence_found=case.evidence,
        false_alarm=case.false_alarm,
        findings=[
            FoundDoc(
                symptom=f.symptom,
                line=f.line,
                pass_argument=f.structure.pass_argument,
                severity=round(f.severity, 4),
                counterfactual=f.counterfactual.verdict,
            )
            for f in case.found
        ],
        error=render(case.error, lang) if case.error is not None else None,
    )


class MeasuresDoc(Doc):
    """The measures of some questions, by their contract names."""

    ndcg: float = Field(alias="ndcg@10")
    hit: float = Field(alias="hit@5")
    recall_5: float = Field(alias="recall@5")
    recall_10: float = Field(alias="recall@10")
    mrr: float = Field(alias="mrr@10")


class LevelDoc(MeasuresDoc):
    """The measures at one level, with the 95 % bootstrap intervals of their means."""

    intervals: dict[str, IntervalDoc]


class StyleDoc(MeasuresDoc):
    """The questions of one style, by file."""

    n: int


class LatencyDoc(Doc):
    """Wall time of a search in a warm process."""

    p50: float
    p95: float


class DifferenceDoc(Doc):
    """A measure against that of the kept run, paired by question: mean difference and its 95 % interval."""

    difference: float
    interval: IntervalDoc
    better: int
    worse: int


class QuestionDoc(Doc):
    """One question: its measures by file and by span, and the first files found."""

    id: str
    file: MeasuresDoc
    span: MeasuresDoc
    found: list[str]


class RetrievalDoc(LevelDoc):
    """`tritonkb eval retrieval`; the measures at the top are those by file."""

    n: int
    latency_ms: LatencyDoc
    by_style: dict[str, StyleDoc]
    span: LevelDoc
    left_out: list[str]
    not_indexed: list[str]
    missing_answers: list[str]
    against: dict[str, dict[str, DifferenceDoc]] | None
    questions: list[QuestionDoc]


def retrieval_doc(
    evaluation: Evaluation, against: Mapping[str, Mapping[str, Difference]] | None = None
) -> RetrievalDoc:  # fmt: skip
    """Give an evaluation its JSON form."""
    outcomes = evaluation.outcomes
    return RetrievalDoc(
        n=len(outcomes),
        latency_ms=LatencyDoc(**evaluation.latency_ms),
        by_style=_by_style(evaluation),
        span=LevelDoc(**_level([o.span for o in outcomes])),
        left_out=list(evaluation.left_out),
        not_indexed=list(evaluation.not_indexed),
        missing_answers=list(evaluation.missing),
        against=_against(against) if against is not None else None,
        questions=[_question_doc(o) for o in outcomes],
        **_level([o.file for o in outcomes]),
    )


def _by_style(evaluation: Evaluation) -> dict[str, StyleDoc]:
    styles = dict.fromkeys(sorted(o.question.style for o in evaluation.outcomes))
    grouped = {style: [o.file for o in evaluation.of_style(style)] for style in styles}
    return {style: StyleDoc(n=len(scores), **_rounded(measures.mean(scores))) for style, scores in grouped.items()}


def _level(scores: Sequence[Scores]) -> dict[str, Any]:
    bounds = measures.intervals(scores)
    shown = {name: IntervalDoc(low=round(low, 4), high=round(high, 4)) for name, (low, high) in bounds.items()}
    return {**_rounded(measures.mean(scores)), "intervals": shown}


def _rounded(scores: Scores) -> dict[str, Any]:
    return {name: round(value, 4) for name, value in scores.items()}


def _against(levels: Mapping[str, Mapping[str, Difference]]) -> dict[str, dict[str, DifferenceDoc]]:
    return {level: {name: _difference_doc(d) for name, d in found.items()} for level, found in levels.items()}


def _difference_doc(found: Difference) -> DifferenceDoc:
    bounds = IntervalDoc(low=round(found.low, 4), high=round(found.high, 4))
    return DifferenceDoc(difference=round(found.mean, 4), interval=bounds, better=found.better, worse=found.worse)


def _question_doc(outcome: Outcome) -> QuestionDoc:
    return QuestionDoc(
        id=outcome.question.id,
        file=MeasuresDoc(**_rounded(outcome.file)),
        span=MeasuresDoc(**_rounded(outcome.span)),
        found=list(outcome.found),
    )

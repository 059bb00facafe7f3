"""The JSON form of an evaluation (design, section 7)."""

from __future__ import annotations

from agent.contract import Doc
from agent.evaluate import Case, Score
from indexer.messages import Lang, render


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

"""`tritonkb eval`: how well it does, on data with a known truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.errors import StoreError
from indexer.messages import message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from agent.contract import IntervalDoc
    from agent.evaluate import Case
    from agent.evaluate_documents import AttributionDoc, CaseDoc, MeasuresDoc, RetrievalDoc

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="eval.folder")]
Questions = Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="eval.questions")]


def attribution(session: Session, folder: Folder) -> int:
    """Score the findings on pairs of kernels."""
    from agent.cli.kernel_input import open_library_if_built, sandbox_policy  # noqa: PLC0415 - heavy, not for --help
    from agent.evaluate import score_pairs  # noqa: PLC0415
    from agent.evaluate_documents import attribution_doc  # noqa: PLC0415
    from agent.evaluate_run import open_diagnoser  # noqa: PLC0415

    library = open_library_if_built(session)
    index = library.index if library is not None else None
    marks = index.manifest.corpora if index is not None else ()

    def on_case(case: Case) -> None:
        session.output.progress(message("eval.case", name=case.truth.name, mark="+" if case.symptom else "-"))

    with open_diagnoser(sandbox_policy(session), index) as diagnose:
        score = score_pairs(folder, diagnose, marks, on_case)
    doc = attribution_doc(score, session.output.lang)
    session.output.answer(doc.to_json(), lambda console: _show(console, doc, session))
    return 0


def _show(console: Console, doc: AttributionDoc, session: Session) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for key in ("pair", "symptom", "line", "pass", "evidence", "alarm", "first"):
        table.add_column(session.output.text(message(f"eval.column_{key}")))
    for case in doc.cases:
        marks = (case.symptom_found, case.line_right, case.pass_right, case.evidence_found)
        table.add_row(case.name, *map(_mark, marks), "!" if case.false_alarm else "", _first(case))
    console.print(table)
    totals = {k: _percent(getattr(doc, k)) for k in _TOTALS}
    console.print(session.output.text(message("eval.totals", n=doc.n, false_alarms=doc.false_alarms, **totals)))
    if doc.evidence_note:
        console.print(doc.evidence_note, markup=False)


_TOTALS = ("symptom_accuracy", "line_accuracy", "pass_accuracy", "evidence_recall")


def _mark(value: bool | None) -> str:  # noqa: FBT001 - one of a row of outcomes
    return "" if value is None else "+" if value else "-"


def _first(case: CaseDoc) -> str:
    if case.error:
        return case.error
    return ", ".join(f"{f.symptom}:{f.line}" for f in case.findings[:3])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def retrieval(
    session: Session,
    questions: Questions,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="eval.save")] = None,
    against: Annotated[Path | None, typer.Option("--against", metavar="FILE", help="eval.against")] = None,
) -> int:
    """Score the search on questions with known answers."""
    from agent.evaluate_documents import retrieval_doc  # noqa: PLC0415 - numpy and the index's readers
    from agent.knowledge import open_library  # noqa: PLC0415
    from indexer.repair import store_option  # noqa: PLC0415
    from retriever import evaluate  # noqa: PLC0415

    asked = evaluate.read_questions(questions)
    index = open_library(session.settings.store).index
    evaluation = evaluate.evaluate(index, asked)
    if not evaluation.outcomes:
        missing, store = ", ".join(evaluation.not_indexed), store_option(session.settings.store)
        raise StoreError("eval.nothing_indexed", missing=missing, store=store)
    differences = evaluate.compare(evaluation, against) if against is not None else None
    if save is not None:
        evaluate.save(evaluation, save)
    doc = retrieval_doc(evaluation, differences)
    session.output.answer(doc.to_json(), lambda console: _show_retrieval(console, doc, session))
    return 0


def _show_retrieval(console: Console, doc: RetrievalDoc, session: Session) -> None:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for name in ("", "n", *_MEASURES.values()):
        table.add_column(name)
    table.add_row(session.output.text(message("eval.by_file")), str(doc.n), *_values(doc, doc.intervals))
    table.add_row(session.output.text(message("eval.by_span")), str(doc.n), *_values(doc.span, doc.span.intervals))
    for style, found in doc.by_style.items():
        table.add_row(style, str(found.n), *_values(found, {}))
    for level, found_ in (doc.against or {}).items():
        row = [f"{d.difference:+.3f} [{d.interval.low:+.3f}, {d.interval.high:+.3f}]" for d in found_.values()]
        table.add_row(session.output.text(message(f"eval.against_{level}")), "", *row)
    console.print(table)
    note = message("eval.latency", p50=f"{doc.latency_ms.p50:.1f}", p95=f"{doc.latency_ms.p95:.1f}")
    console.print(session.output.text(note))
    for key, values in (("left_out", doc.left_out), ("missing_answers", doc.missing_answers)):
        if values:
            what = message(f"eval.{key}", n=len(values), corpora=", ".join(doc.not_indexed), what=", ".join(values))
            console.print(session.output.text(what), markup=False)


_MEASURES = {
    "ndcg": "nDCG@10", "hit": "hit@5", "recall_5": "recall@5", "recall_10": "recall@10", "mrr": "MRR@10",
}  # fmt: skip


def _values(found: MeasuresDoc, bounds: Mapping[str, IntervalDoc]) -> list[str]:
    names = type(found).model_fields
    intervals = [bounds.get(names[field].alias or field) for field in _MEASURES]
    values = [getattr(found, field) for field in _MEASURES]
    return [
        f"{value:.3f}" + (f" [{b.low:.3f}, {b.high:.3f}]" if b is not None else "")
        for value, b in zip(values, intervals, strict=True)
    ]

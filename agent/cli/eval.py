"""`tritonkb eval`: how well it does, on data with a known truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.messages import message

if TYPE_CHECKING:
    from rich.console import Console

    from agent.evaluate import Case
    from agent.evaluate_documents import AttributionDoc, CaseDoc

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="eval.folder")]


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

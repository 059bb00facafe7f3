"""`tritonkb report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli.options import Session
from indexer.messages import message

if TYPE_CHECKING:
    from agent.report.html.write import Written

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="html.run_help")]
ReportFile = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="html.out_help")]


def report(session: Session, run: RunFolder, out: ReportFile = None) -> int:
    """Write a run as HTML."""
    from agent.report.html.write import write_report  # noqa: PLC0415 - Pydantic and Jinja are not for --help

    written = write_report(run, out, session.output.lang)
    _tell(session, written)
    said = session.output.text(message("html.written", path=written.path))
    session.output.answer(
        {"report": written.path}, lambda console: console.print(said, soft_wrap=True, markup=False, highlight=False)
    )
    return 0


def _tell(session: Session, written: Written) -> None:
    """Tell of what the report cannot show whole."""
    from agent.report.html.reading import Unreadable  # noqa: PLC0415 - see above

    for seen in written.seen:
        if isinstance(seen, Unreadable):
            session.output.progress(message("html.unreadable_told", folder=seen.folder, why=seen.note))
        elif seen.result is None:
            session.output.progress(message("html.unfinished_told", folder=seen.folder, rounds=len(seen.rounds)))

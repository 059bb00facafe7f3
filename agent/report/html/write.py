"""Writing the report of a run beside it, or where the user wants it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.journal import write_whole
from agent.report.html.page import render_page
from agent.report.html.reading import Seen, read_runs
from indexer.errors import BadInput
from indexer.messages import Lang

REPORT = "report.html"


@dataclass(frozen=True, slots=True)
class Written:
    """Where the report is, and what it was made from."""

    path: Path
    seen: tuple[Seen, ...]


def write_report(folder: Path, out: Path | None, lang: Lang) -> Written:
    """Write the report of the run in `folder`, or of the runs in it.

    Raises `BadInput` where there is no run, or a damaged one alone, and `StoreError` where nothing can be written.
    """
    path = out if out is not None else folder / REPORT
    if path.is_dir():
        raise BadInput("html.no_place", path=path)
    seen = read_runs(folder)
    write_whole(path, render_page(folder, seen, lang))
    return Written(path, seen)

"""Which bug reports `tritonkb diagnose --bundle` wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from indexer.messages import message, render

if TYPE_CHECKING:
    from agent.contract import BundleDoc
    from agent.report.terminal import Terminal


def show_bundles(terminal: Terminal, docs: list[BundleDoc] | None) -> None:
    """Say where each report is, or that there is nothing to report; nothing where none was asked for."""
    if docs == []:
        terminal.line(render(message("bundle.none"), terminal.lang), style="dim")
    for doc in docs or []:
        named = {"project": doc.project, "folder": doc.folder}
        note = message("bundle.written", **named)
        if doc.lines is not None:
            note = message("bundle.written_reduced", **named, before=doc.lines[0], after=doc.lines[1])
        terminal.line(render(note, terminal.lang), style="bold yellow")

"""Kernels that shapes compile anew, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.contract import RecompileDoc
from indexer.messages import message, render

if TYPE_CHECKING:
    from agent.report.terminal import Terminal


def show_recompiles(terminal: Terminal, docs: Sequence[RecompileDoc]) -> None:
    """Show each kernel with its number of compilations, the stall they are and what would avoid them."""
    for doc in docs:
        terminal.line("")
        _say(
            terminal, "found", style="bold yellow", kernel=doc.kernel, compilations=doc.compilations, shapes=doc.shapes,
            avoidable=doc.avoidable,
        )  # fmt: skip
        _say(terminal, "at", indent=2, line=doc.line, text=doc.text)
        for cause in doc.causes:
            terminal.line(cause.explanation, indent=2)
            terminal.line(cause.advice, style="green", indent=2)
        if doc.stall_seconds is None:
            _say(terminal, "no_stall", indent=2, basis=doc.stall_basis)
        else:
            _say(terminal, "stall", indent=2, seconds=doc.stall_seconds, basis=doc.stall_basis)


def _say(terminal: Terminal, key: str, *, style: str = "", indent: int = 0, **values: object) -> None:
    terminal.line(render(message(f"recompile.{key}", **values), terminal.lang), style, indent)

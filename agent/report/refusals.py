"""Refusals for people at a terminal: cause, buffers, way out, and how targets differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.contract_parts import ExplanationDoc

if TYPE_CHECKING:  # the terminal shows refusals among the rest
    from agent.report.terminal import Terminal

SHOWN_BUFFERS = 6


def show_explanations(terminal: Terminal, docs: Sequence[ExplanationDoc]) -> None:
    """Show why launches are refused: the buffers of the fullest moment, the place in the compiler, the way out."""
    for doc in docs:
        terminal.line("")
        terminal.line(doc.title, style="bold red" if doc.kind == "rejected" else "bold yellow")
        if doc.line is not None:
            terminal.say("at_line", indent=2, line=doc.line, text=doc.text)
        for note in doc.details:
            terminal.line(note, indent=2)
        for buffer in [b for b in doc.buffers if b.at_peak][:SHOWN_BUFFERS]:
            added = f"  ({'; '.join(buffer.added)})" if buffer.added else ""
            terminal.say(
                "buffer", indent=2, bytes=buffer.bytes, tensor=buffer.tensor or "-", line=buffer.line or "-",
                first=buffer.first_line or "-", last=buffer.last_line or "-", type=_plain(buffer.type), added=added,
            )  # fmt: skip
        for cited in doc.place:
            terminal.line(f"{cited.passage}  {cited.title}", style="dim", indent=2)
        terminal.say("way_out", style="green", indent=2, text=doc.way_out)


def show_portability(terminal: Terminal, said: Sequence[str]) -> None:
    """Show how targets differ, where several were asked."""
    if said:
        terminal.line("")
        terminal.say("portability", style="bold")
    for text in said:
        terminal.line(text, indent=2)


def _plain(kind: str) -> str:
    """Return a memref type without its memory, which the heading names."""
    return kind.partition(", #hivm")[0].removeprefix("memref<").removesuffix(">")

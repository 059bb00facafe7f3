"""The console of stdout; a module of its own because Rich costs 0.1 s that `--help` and `--json` need not pay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from agent.cli.output import PRINTABLE, OutputClosed

# Rich wraps at 80 columns where there is no terminal, which cuts paths that a program wants to read.
WIDTH_WITHOUT_TERMINAL = 160


class StdoutConsole(Console):
    """Prints the user's text as it is: square brackets are no mark-up, numbers are not coloured."""

    def __init__(self, stream: TextIO) -> None:
        width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
        super().__init__(file=stream, markup=False, highlight=False, emoji=False, width=width)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Give the pieces of what is printed, without what would steer the terminal."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(piece.text.translate(PRINTABLE), piece.style)

    def on_broken_pipe(self) -> None:
        """Leave to the command line how to end; Rich would end the process here."""
        raise OutputClosed

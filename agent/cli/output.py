"""What a command says: one answer on stdout, as text or as one JSON document; everything else on stderr."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.messages import Lang, Message, render

if TYPE_CHECKING:
    from rich.console import Console


# Paths and passages come from strangers' repositories: what steers a terminal is shown, not sent.
PRINTABLE = str.maketrans(
    {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
    | {0x7F: "\u2421"}
    | dict.fromkeys(range(0x80, 0xA0), "\ufffd")
)


class OutputClosed(Exception):
    """Whoever read our stdout is gone."""


class Output:
    """The two streams of a command, in the user's language.

    `way_on` is what Ctrl-C should say about going on; a command that can be resumed sets it.
    """

    def __init__(self, lang: Lang, *, as_json: bool) -> None:
        self.lang: Lang = lang
        self.as_json = as_json
        self.way_on: Message | None = None
        self._stdout = sys.stdout
        self._stderr = sys.stderr

    def text(self, note: Message) -> str:
        """Give the sentence of `note` in the user's language."""
        return render(note, self.lang).translate(PRINTABLE)

    def answer(self, document: Mapping[str, object], show: Callable[[Console], None]) -> None:
        """Give the command's answer once: `document` with `--json`, else what `show` prints to the console."""
        if self.as_json:
            self.write_document(document)
        else:
            show(self.console)
            self._write("")

    def write_document(self, document: Mapping[str, object]) -> None:
        """Write the one JSON document; messages in it become text, paths strings, records objects."""
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False, default=self._encode)
        self._write(text + "\n")

    def progress(self, note: Message) -> None:
        """Tell on stderr what is being done."""
        print(self.text(note), file=self._stderr, flush=True)

    def complain(self, note: Message) -> None:
        """Tell on stderr, in one line, why there is no answer."""
        print(f"tritonkb: {self.text(note)}", file=self._stderr, flush=True)

    @cached_property
    def console(self) -> Console:
        """Give the console of stdout."""
        from agent.cli.console import StdoutConsole  # noqa: PLC0415 - Rich costs 0.1 s

        return StdoutConsole(self._stdout)

    def _write(self, text: str) -> None:
        try:
            self._stdout.write(text)
            self._stdout.flush()
        except BrokenPipeError as error:
            raise OutputClosed from error

    def _encode(self, value: Any) -> object:
        if isinstance(value, Message):
            return self.text(value)
        if isinstance(value, Path):
            return str(value)
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, (set, frozenset)):
            return sorted(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        raise TypeError(f"{type(value).__name__} has no JSON form")

"""What is wrong with the arguments, said in the user's language, with the near word for a typo.

Typer brings its own copy of Click; the kinds of error are only told apart by their classes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import typer
from typer._click.exceptions import MissingParameter, NoSuchOption, UsageError

from agent.cli.commands import GROUPS, Command
from indexer.messages import Message, message


def explain_usage(error: typer.TyperException, arguments: Sequence[str], commands: Sequence[Command]) -> Message:
    """Say what is wrong, and which help to read."""
    if not isinstance(error, UsageError):
        return message("cli.usage", detail=error.format_message(), help="tritonkb --help")
    path = error.ctx.command_path if error.ctx else "tritonkb"
    see = f"{path} --help"
    if isinstance(error, NoSuchOption):
        near = _near(error.option_name, list(error.possibilities or ()))
        return message("cli.no_such_option", option=error.option_name, near=near, help=see)
    if isinstance(error, MissingParameter) and error.param is not None:
        return message("cli.missing_parameter", name=error.param.get_error_hint(), help=see)
    if error.ctx is not None and error.message.startswith("No such command"):
        return _no_such_command(path, arguments, commands)
    return message("cli.usage", detail=error.format_message().rstrip("."), help=see)


def _no_such_command(path: str, arguments: Sequence[str], commands: Sequence[Command]) -> Message:
    group = path.split()[1:]
    siblings = [command.name.split() for command in commands]
    known = [words[len(group)] for words in siblings if words[: len(group)] == group]
    word = next((a for a in arguments if not a.startswith("-") and a not in {*GROUPS, "en", "zh"}), "")
    return message("cli.no_such_command", name=word, near=_near(word, known), help=f"{path} --help")


def _near(word: str, known: Sequence[str]) -> Message | str:
    close = get_close_matches(word, known, n=1)
    return message("cli.did_you_mean", word=close[0]) if close else ""

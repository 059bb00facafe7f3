"""The door: builds the application in the user's language, runs one command, turns every end into an exit code."""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from agent.cli.commands import COMMANDS, GROUPS, Command
from agent.cli.config import Manner, read_manner
from agent.cli.options import bind, give_options
from agent.cli.output import Output, OutputClosed
from agent.cli.usage import explain_usage
from indexer.errors import FULL, StoreError, TritonkbError
from indexer.messages import Message, message

INTERRUPTED = 130
# What a shell reports for a program ended by SIGPIPE.
PIPE_CLOSED = 141
# The disk, not the program, is at fault; users without rights on a folder see the same exit code.
DISK_ERRORS = frozenset({*FULL, errno.EROFS, errno.EACCES})


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str], commands: Sequence[Command] = COMMANDS) -> int:
    """Run one command; every error ends here, as one line on stderr and the exit code of the tree."""
    manner = read_manner(arguments, os.environ)
    output = Output(manner.lang, as_json=manner.as_json)
    try:
        # With --json, a library that prints must not spoil the document: its text goes to stderr.
        with contextlib.redirect_stdout(sys.stderr) if manner.as_json else contextlib.nullcontext():
            code = _run_command(arguments, output, commands)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OutputClosed:
        return _leave_closed_pipe()
    except TritonkbError as error:
        return _fail(output, manner, error, error.note, error.exit_code)
    except typer.TyperException as error:
        return _fail(output, manner, error, explain_usage(error, arguments, commands), error.exit_code)
    except OSError as error:
        if error.errno in DISK_ERRORS:
            key = "cli.disk_full" if error.errno in FULL else "cli.disk"
            refused = StoreError(key, path=error.filename or Path.cwd(), reason=os.strerror(error.errno or 0))
            return _fail(output, manner, error, refused.note, refused.exit_code)
        return _fail(output, manner, error, _bug(error), 1)
    except Exception as error:  # noqa: BLE001 - the outermost frame: a defect of ours is told as one line too
        return _fail(output, manner, error, _bug(error), 1)
    if code == INTERRUPTED:
        return _fail(output, manner, None, output.way_on or message("cli.interrupted"), INTERRUPTED)
    return code


def build_app(arguments: Sequence[str], output: Output, commands: Sequence[Command] = COMMANDS) -> typer.Typer:
    """Build the application; only the modules of commands named in `arguments` are imported."""
    app = _new_group("cli.summary", output)
    groups = {name: _new_group(summary, output) for name, summary in GROUPS.items()}
    for name, group in groups.items():
        app.add_typer(group, name=name)
    for command in commands:
        *parent, name = command.name.split()
        group = groups[parent[0]] if parent else app
        group.command(name, help=output.text(message(command.summary)))(_load(command, arguments, output))
    _add_root_options(app, output)
    return app


def _run_command(arguments: Sequence[str], output: Output, commands: Sequence[Command]) -> int:
    command = typer.main.get_command(build_app(arguments, output, commands))
    code = command.main(args=list(arguments), prog_name="tritonkb", standalone_mode=False)
    sys.stdout.flush()
    return int(code or 0)


def _new_group(summary: str, output: Output) -> typer.Typer:
    # Rich's help panels would double the time of --help, and read the brackets of "FILE[:LINE]" as mark-up.
    text = output.text(message(summary))
    group = typer.Typer(add_completion=False, rich_markup_mode=None, help=text)
    group.callback(invoke_without_command=True, help=text)(_show_help_alone)
    return group


def _show_help_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def _add_root_options(app: typer.Typer, output: Output) -> None:
    """Add what may stand before the command."""
    version_help, lang_help = output.text(message("cli.version")), output.text(message("cli.lang"))
    version_option = typer.Option("--version", callback=_show_version, is_eager=True, help=version_help)
    lang_option = typer.Option("--lang", help=lang_help)

    def root(context: typer.Context, **_options: object) -> None:
        _show_help_alone(context)

    give_options(
        root,
        {
            "context": (typer.Context, inspect.Parameter.empty),
            "version": (Annotated[bool, version_option], False),
            "lang": (Annotated[Literal["en", "zh"] | None, lang_option], None),
        },
    )
    app.callback(invoke_without_command=True, help=output.text(message("cli.summary")))(root)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - Typer passes the flag by position
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - a third of the time of --help

        typer.echo(f"tritonkb {version('tritonkb')}")
        raise typer.Exit


def _load(command: Command, arguments: Sequence[str], output: Output) -> Callable[..., int]:
    """Import the function of `command`, or give a stand-in where the arguments cannot be calling it."""
    if not set(command.name.split()) <= set(arguments):
        return lambda: 0
    module, _, name = command.function.partition(":")
    return bind(getattr(import_module(module), name), command.shared, output)


def _fail(output: Output, manner: Manner, error: BaseException | None, note: Message, code: int) -> int:
    if manner.verbose and error is not None:
        traceback.print_exception(error)
    output.complain(note)
    if manner.as_json:
        output.write_document({"error": {"message": note, "exit_code": code}})
    return code


def _bug(error: BaseException) -> Message:
    return message("cli.bug", kind=type(error).__name__, detail=error)


def _leave_closed_pipe() -> int:
    """Give the interpreter an open stream to flush on its way out, and say what a shell would of a closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED

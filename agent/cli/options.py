"""The session every command is given, and the options that commands share.

A command is a function `f(session, …) -> int` (the exit code) in a module of this folder, listed in
`agent/cli/commands.py`. Its own options are `Annotated[T, typer.Option(help="area.key")]`: the help is a catalogue key,
so that it exists in both languages.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer
from typer.models import ParameterInfo

from agent.cli.output import Output
from indexer.messages import Lang, message, render

if TYPE_CHECKING:  # Pydantic costs 0.1 s, which `--help` need not pay
    from agent.cli.settings import Settings

# Given to every command.
EVERYWHERE = ("as_json", "store", "verbose", "lang")

# All shared options by parameter name; those that are fields of `Settings` end up in `session.settings`.
SHARED: Mapping[str, tuple[Any, object]] = {
    "as_json": (Annotated[bool, typer.Option("--json", help="cli.json")], False),
    "store": (Annotated[str | None, typer.Option("--store", metavar="DIR", help="cli.store")], None),
    "verbose": (Annotated[int, typer.Option("--verbose", "-v", count=True, show_default=False, help="cli.verbose")], 0),
    "lang": (Annotated[Literal["en", "zh"] | None, typer.Option("--lang", help="cli.lang")], None),
    "target": (Annotated[str | None, typer.Option("--target", metavar="T", help="cli.target")], None),
    "embedder": (Annotated[str | None, typer.Option("--embedder", metavar="NAME", help="cli.embedder")], None),
    "model": (Annotated[str | None, typer.Option("--model", metavar="NAME", help="cli.model")], None),
    "toolchain_python": (
        Annotated[Path | None, typer.Option("--toolchain-python", metavar="PYTHON", help="cli.toolchain_python")],
        None,
    ),
    "host_seconds": (
        Annotated[float | None, typer.Option("--host-seconds", metavar="S", help="cli.host_seconds")],
        None,
    ),
    "unsafe_no_sandbox": (
        Annotated[bool, typer.Option("--unsafe-no-sandbox", help="cli.unsafe_no_sandbox")],
        False,
    ),
}


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with besides its own arguments: where it speaks, and the merged settings."""

    output: Output
    settings: Settings
    verbose: int


def bind(function: Callable[..., int], shared: tuple[str, ...], output: Output) -> Callable[..., int]:
    """Give `function` the shared options in place of its first parameter, the `Session`."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    names = (*shared, *EVERYWHERE)

    def call(**values: Any) -> int:
        given = {name: values.pop(name) for name in names}
        return function(_open_session(output, given), **values)

    options = {p.name: (p.annotation, p.default) for p in own} | {name: SHARED[name] for name in names}
    give_options(call, {name: (_localized(hint, output.lang), default) for name, (hint, default) in options.items()})
    return call


def give_options(function: Callable[..., object], options: Mapping[str, tuple[Any, object]]) -> None:
    """Let Typer see `options` (name -> annotation, default) as the keyword parameters of `function`."""
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in options.items()
    ]
    vars(function)["__signature__"] = inspect.Signature(parameters)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def _open_session(output: Output, given: Mapping[str, Any]) -> Session:
    from agent.cli.settings import Settings, load_settings  # noqa: PLC0415 - see above

    flags = {name: value for name, value in given.items() if name in Settings.model_fields and value is not False}
    settings = load_settings(flags)
    if settings.toolchain_python:
        # The compilers' own processes look there too.
        os.environ["TRITONKB_TOOLCHAIN_PYTHON"] = str(settings.toolchain_python)
    if settings.embedder:
        os.environ["TRITONKB_EMBEDDER"] = settings.embedder
    verbose = int(given["verbose"])
    logging.basicConfig(format="%(name)s: %(message)s")
    for package in ("agent", "retriever", "indexer"):
        logging.getLogger(package).setLevel({0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG))
    return Session(output, settings, verbose)


def _localized(hint: Any, lang: Lang) -> Any:
    """Render the help of an `Annotated` option, which is a catalogue key, in `lang`."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *notes = get_args(hint)
    localized = [_with_help(note, lang) if isinstance(note, ParameterInfo) else note for note in notes]
    return Annotated.__class_getitem__((base, *localized))  # a star needs Python 3.11


def _with_help(option: ParameterInfo, lang: Lang) -> ParameterInfo:
    localized = copy(option)
    if option.help:
        localized.help = render(message(option.help), lang)
    return localized

"""The configuration files, and what must be known before any command is: the language, and whether output is JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from indexer.errors import BadInput
from indexer.messages import Lang
from indexer.toml import parse_toml

FILE_NAME = "tritonkb.toml"


@dataclass(frozen=True, slots=True)
class Manner:
    """How to speak to the user, as far as the bare arguments tell: errors of parsing are told in this manner too."""

    lang: Lang
    as_json: bool
    verbose: bool


def read_manner(arguments: Sequence[str], environ: Mapping[str, str]) -> Manner:
    """Read `--lang`, `--json` and `-v` without knowing the command; the language else from environment and locale."""
    words = list(takewhile(lambda word: word != "--", arguments))
    return Manner(
        lang=_language_flag(words) or _language_default(environ),
        as_json="--json" in words,
        verbose=any(word == "--verbose" or (word.startswith("-v") and set(word[1:]) == {"v"}) for word in words),
    )


def config_folder() -> Path:
    """Return the folder of the user's own configuration."""
    from platformdirs import user_config_path  # noqa: PLC0415 - only paths need it

    return user_config_path("tritonkb", appauthor=False)


def read_config() -> list[tuple[Path, dict[str, Any]]]:
    """Read `tritonkb.toml` of the configuration folder, then that of the working folder (it wins), where they exist.

    Raises `BadInput` for a file that is not TOML.
    """
    found = []
    for path in (config_folder() / FILE_NAME, Path(FILE_NAME)):
        if path.is_file():
            try:
                found.append((path, parse_toml(path.read_text(encoding="utf-8"))))
            except ValueError as error:
                raise BadInput("cli.bad_config", path=path, reason=error) from error
    return found


def _language_flag(words: Sequence[str]) -> Lang | None:
    for index, word in enumerate(words):
        value = word.removeprefix("--lang=") if word.startswith("--lang=") else ""
        if word == "--lang" and index + 1 < len(words):
            value = words[index + 1]
        if value in {"en", "zh"}:
            return "zh" if value == "zh" else "en"
    return None


def _language_default(environ: Mapping[str, str]) -> Lang:
    """Take TRITONKB_LANG, the configuration file, or the locale: the first of the POSIX variables that is set."""
    named = environ.get("TRITONKB_LANG") or _language_of_config()
    locale = named or next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


def _language_of_config() -> str:
    """Read the language that the files name; a broken file is reported later, by the command that needs it."""
    try:
        tables = [table for _, table in read_config()]
    except BadInput:
        return ""
    return next((str(table["lang"]) for table in reversed(tables) if "lang" in table), "")
